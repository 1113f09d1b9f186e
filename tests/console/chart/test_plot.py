"""The loss chart as rows of characters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.chart.axis import Scale
from console.chart.cell_rows import Ink, Row, clipped, printable
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import ASCII, UNICODE, Glyphs
from console.chart.plot import draw
from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.chart.value_text import loss_text
from console.chart.viewport import Viewport
from console.view import run_view

NAN = float("nan")
LINEAR = Look(scale=Scale.LINEAR)


def chart(
    losses: list[float], *marks: Mark, ema: list[float] | None = None, first: int = 1
) -> ChartData:
    series = Series()
    series.append_many(range(first, first + len(losses)), losses, ema or losses)
    return ChartData(series=series.view(), marks=marks)


def phase(step: int, label: str) -> Mark:
    return Mark(step=step, label=label, kind=MarkKind.PHASE)


def restart(step: int, label: str) -> Mark:
    return Mark(step=step, label=label, kind=MarkKind.RESTART)


def text(rows: list[Row]) -> list[str]:
    return ["".join(run.text for run in row) for row in rows]


def columns_of(rows: list[Row], ink: Ink) -> set[int]:
    """The columns in which something but the first row (the key) has this ink."""
    columns: set[int] = set()
    for row in rows[1:]:
        at = 0
        for run in row:
            if run.ink is ink:
                columns.update(range(at, at + cell_len(run.text)))
            at += cell_len(run.text)
    return columns


def lines(
    data: ChartData,
    look: Look = LINEAR,
    glyphs: Glyphs = UNICODE,
    *,
    width: int = 60,
    height: int = 16,
) -> list[str]:
    return text(draw(data, look, glyphs, width=width, height=height).rows)


def test_key_shows_the_last_loss_and_ema() -> None:
    head = lines(chart([3.0, 2.4131], ema=[3.0, 2.75]))[0]
    assert "loss 2.4131" in head
    assert "EMA 2.7500" in head


def test_head_names_step_scale_and_window() -> None:
    look = Look(scale=Scale.LOG, viewport=Viewport(span=10_000))
    head = lines(chart([2.0, 3.0] * 6_000, first=100_701), look, width=90)[1]
    assert head.rstrip().endswith("step 112,700 · log · last 10,000 steps")


def test_falling_loss_runs_from_top_left_to_bottom_right() -> None:
    rows = lines(chart([4.0, 3.0, 2.0, 1.0]), glyphs=ASCII, width=30, height=9)
    drawn = [row.find("#") for row in rows[1:-2]]
    assert drawn == sorted(drawn)
    assert drawn[0] < drawn[-1]
    assert rows[-3].endswith("#")


def test_axes_bear_round_values_and_steps() -> None:
    rows = lines(chart(list(np.linspace(3.0, 2.0, 112_700))), width=80)
    assert any(row.lstrip().startswith("2.5 ┤") for row in rows)
    assert "20k" in rows[-1]
    assert "100k" in rows[-1]


def test_nan_makes_a_gap() -> None:
    rows = draw(
        chart([2.0] * 20 + [NAN] * 20 + [2.0] * 20), LINEAR, UNICODE, width=66, height=12
    ).rows
    drawn = columns_of(rows, Ink.RAW) | columns_of(rows, Ink.SMOOTH)
    middle = (min(drawn) + max(drawn)) // 2
    assert not drawn & set(range(middle - 8, middle + 8))
    assert drawn & set(range(middle - 20, middle - 10))
    assert drawn & set(range(middle + 10, middle + 20))


def test_few_records_are_joined_by_a_line() -> None:
    rows = draw(chart([1.0, 2.0], ema=[NAN, NAN]), LINEAR, UNICODE, width=60, height=12).rows
    drawn = columns_of(rows, Ink.RAW)
    assert drawn == set(range(min(drawn), max(drawn) + 1))
    assert len(drawn) > 20


def test_window_leaves_older_steps_out() -> None:
    data = chart([50.0] * 500 + [2.0, 3.0] * 50)
    rows = lines(data, Look(scale=Scale.LINEAR, viewport=Viewport(span=100)))
    assert not any(row.lstrip().startswith("50 ") for row in rows)
    assert "520" in rows[-1]
    assert "100 " not in rows[-1]


def test_log_axis_leaves_zero_and_negative_values_out_and_says_so() -> None:
    data = chart([0.5, 0.0, -1.0, 50.0], ema=[1.0, 1.0, 1.0, 1.0])
    rows = lines(data, Look(scale=Scale.LOG), width=90)
    assert "log (2 at or below 0 not shown)" in rows[0]
    assert any(row.lstrip().startswith("10 ┤") for row in rows)


def test_log_axis_without_any_positive_value_is_linear_and_says_so() -> None:
    rows = lines(chart([0.0, -1.0, -2.0]), Look(scale=Scale.LOG), width=90)
    assert "linear (no loss above 0)" in rows[0]
    assert any("-1.0 ┤" in row for row in rows)


def test_history_of_nan_alone_shows_nan() -> None:
    rows = draw(chart([NAN, NAN]), Look(), UNICODE, width=60, height=12).rows
    assert "loss NaN" in text(rows)[0]
    assert not columns_of(rows, Ink.RAW)


def test_infinite_loss_is_named_and_not_drawn() -> None:
    rows = lines(chart([2.0, 3.0, float("inf")]))
    assert "loss inf" in rows[0]
    assert len(rows) == 16


def test_phase_is_a_line_from_top_to_bottom_with_its_label() -> None:
    rows = lines(chart([2.0] * 100, phase(50, "phase 2")), width=70, height=12)
    column = rows[1].index("│phase 2")
    assert sum(row[column] == "│" for row in rows[1:-2]) >= 7


def test_label_of_a_mark_at_the_right_edge_stands_to_its_left() -> None:
    rows = lines(chart([2.0] * 100, phase(100, "polish pivot")))
    assert rows[1].endswith("polish pivot│")


def test_mark_of_the_step_to_come_is_shown_at_the_last() -> None:
    assert lines(chart([2.0] * 100, phase(101, "new phase")))[1].endswith("new phase│")


def test_marks_outside_the_window_take_no_room() -> None:
    data = chart([2.0] * 1000, phase(10, "long ago"))
    look = Look(viewport=Viewport(span=100))
    assert lines(data, look) == lines(chart([2.0] * 1000), look)


def test_phase_label_wins_over_restart_label() -> None:
    data = chart([2.0] * 100, restart(52, "restart 7 after a power cut"), phase(50, "phase 2"))
    labels = lines(data, width=50)[1]
    assert "phase 2" in labels


def test_every_kind_of_mark_in_a_view_is_one_of_the_charts() -> None:
    of_alarms = {MarkKind.ALARM.name}  # which are no marks of a view
    names = {kind.name for kind in run_view.MarkKind} | of_alarms
    assert names == {kind.name for kind in MarkKind}


@pytest.mark.parametrize("step", [*range(40, 50), *range(51, 61)])
@pytest.mark.parametrize("more", [("phase 2", MarkKind.PHASE), ("NaN", MarkKind.NONFINITE)])
def test_restart_beside_a_mark_that_matters_more_hides_nothing_of_it(
    step: int, more: tuple[str, MarkKind]
) -> None:
    mark = Mark(step=50, label=more[0], kind=more[1])
    labels = lines(chart([2.0] * 100, mark, restart(step, "start 4")), width=110)[1]
    assert more[0] in labels
    assert "start 4" in labels, "there is room at the other side"


@pytest.mark.parametrize("more", [("phase 2", MarkKind.PHASE), ("NaN", MarkKind.NONFINITE)])
def test_between_restarts_without_room_what_matters_more_is_labelled(
    more: tuple[str, MarkKind],
) -> None:
    marks = [restart(step, f"start {step}") for step in range(2, 100, 3) if step != 50]
    mark = Mark(step=50, label=more[0], kind=more[1])
    assert more[0] in lines(chart([2.0] * 100, mark, *marks), width=110)[1]


def test_labels_never_overlap_but_are_cut_or_left_out() -> None:
    marks = [phase(step, f"phase number {step}") for step in range(1, 100, 9)]
    labels = lines(chart([2.0] * 100, *marks), width=80)[1]
    assert cell_len(labels) == 80
    assert labels.count("│") == len(marks)
    assert "…" in labels


def test_label_touches_its_own_line_only() -> None:
    marks = (phase(60, "phase 2: more code"), phase(100, "phase 3: polish pivot"))
    labels = lines(chart([2.0] * 100, *marks), width=60)[1]
    assert labels.endswith("phase 2: more code│ phase 3: polish pi…│")


def test_markup_and_control_sequences_in_labels_are_only_text() -> None:
    label = "[red]x[/] \x1b[31m\x07\u202eevil\u200b\nline"
    labels = lines(chart([2.0] * 100, phase(10, label)))[1]
    assert "[red]x[/] [31mevil line" in labels
    assert labels.isprintable()


def test_wide_characters_in_labels_keep_the_width() -> None:
    rows = lines(chart([2.0] * 100, phase(10, "更多代碼"), phase(60, "é\u0301 🚀")))
    assert "更多代碼" in rows[1]
    assert {cell_len(row) for row in rows} == {60}


def test_raw_and_ema_differ_by_glyph_alone() -> None:
    for glyphs in (UNICODE, ASCII):
        rows = draw(
            chart([2.0, 4.0] * 200, ema=[3.0] * 400), LINEAR, glyphs, width=60, height=12
        ).rows
        plot = [run for row in rows[1:] for run in row]
        raw = {c for run in plot if run.ink is Ink.RAW for c in run.text}
        smooth = {c for run in plot if run.ink is Ink.SMOOTH for c in run.text}
        assert raw
        assert smooth
        assert not raw & smooth


def test_ascii_glyphs_draw_nothing_but_ascii() -> None:
    data = chart([2.0, 4.0] * 200, phase(100, "phase 2 — 更多"), restart(300, "x" * 99))
    for width, height in ((80, 24), (10, 3), (3, 1)):
        assert all(row.isascii() for row in lines(data, glyphs=ASCII, width=width, height=height))


def test_empty_history_says_so() -> None:
    assert any("no step yet" in row for row in lines(ChartData()))
    assert lines(ChartData(), width=1, height=1) == ["…"]


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (11, 2, ["loss 2.4131", "EMA 2.7500 "]),
        (11, 1, ["loss 2.4131"]),
        (6, 2, ["2.4131", "2.7500"]),
        (5, 2, ["…    ", "…    "]),
        (1, 1, ["…"]),
    ],
)
def test_small_chart_shows_whole_numbers_or_none(
    width: int, height: int, expected: list[str]
) -> None:
    data = chart([3.0, 2.4131], ema=[3.0, 2.75])
    assert lines(data, width=width, height=height) == expected


def test_no_room_at_all_gives_no_rows() -> None:
    assert lines(chart([2.0]), width=0, height=5) == []
    assert lines(chart([2.0]), width=5, height=0) == []


VALUES = st.one_of(st.floats(-5, 50), st.just(NAN), st.floats(allow_nan=True, allow_infinity=True))


@given(
    losses=st.lists(VALUES, max_size=30),
    first=st.integers(0, 10**7),
    marks=st.lists(
        st.builds(Mark, step=st.integers(0, 40), label=st.text(), kind=st.sampled_from(MarkKind)),
        max_size=4,
    ),
    scale=st.sampled_from(Scale),
    glyphs=st.sampled_from([UNICODE, ASCII]),
    width=st.integers(1, 120),
    height=st.integers(1, 40),
)
def test_any_data_at_any_size_fills_the_size_exactly(
    losses: list[float],
    first: int,
    marks: list[Mark],
    scale: Scale,
    glyphs: Glyphs,
    width: int,
    height: int,
) -> None:
    moved = [Mark(step=mark.step + first, label=mark.label, kind=mark.kind) for mark in marks]
    data = chart(losses, *moved, first=first)
    rows = lines(data, Look(scale=scale), glyphs, width=width, height=height)
    assert len(rows) == height
    assert {cell_len(row) for row in rows} == {width}


@given(st.text(), st.integers(0, 20))
def test_clipped_text_is_printable_and_fits(words: str, width: int) -> None:
    line = clipped(printable(words, UNICODE), width, UNICODE)
    assert cell_len(line) <= width
    assert "\n" not in line
    assert "\x1b" not in line


def test_losses_read_as_people_write_them() -> None:
    assert [loss_text(v) for v in (2.41312, 0.0, NAN, 123456.0, 0.00001)] == [
        "2.4131",
        "0.0000",
        "NaN",
        "1.235e+05",
        "1.000e-05",
    ]
