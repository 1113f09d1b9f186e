"""Other runs laid over the chart of this one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len

from console.chart import navigation
from console.chart.cell_rows import CURVES
from console.chart.chart_data import ChartData, Look, Other, Points
from console.chart.glyphs import ASCII, UNICODE, Glyphs
from console.chart.grid import Unit
from console.chart.plot import draw
from console.chart.series import Series, SeriesView
from console.chart.track import Track
from console.chart.viewport import Viewport


def view(
    ema: float, *, steps: range = range(1, 1001), tokens: int = 1000, began: float = 1.7e9
) -> SeriesView:
    """A run whose EMA falls by 0.001 a step to where it stays."""
    series, step = Series(), np.array(steps)
    smooth = ema + np.maximum(0, 500 - step) / 1000
    loss = smooth + np.sin(step) / 10
    t = began + 10.0 * np.arange(len(steps))
    series.append_many(step, loss, smooth, tokens=np.full(len(steps), tokens), t=t)
    return series.view()


def data(*others: Other) -> ChartData:
    return ChartData(series=view(2.0), others=others)


def lines(
    shown: ChartData,
    look: Look | None = None,
    glyphs: Glyphs = UNICODE,
    *,
    width: int = 110,
    height: int = 24,
) -> list[str]:
    rows = draw(shown, look or Look(), glyphs, width=width, height=height).rows
    return ["".join(run.text for run in row) for row in rows]


def head_of_difference(rows: list[str]) -> str:
    return next(row for row in rows if row.startswith(" other - this"))


def test_the_legend_names_them_and_the_strip_tells_how_far_they_are_at_the_cursor() -> None:
    shown = data(Other(name="fork-a", series=view(2.25)), Other(name="fork-b", series=view(1.9)))
    for glyphs in (UNICODE, ASCII):
        rows = lines(shown, navigation.go_to(Look(), shown, 600), glyphs)
        assert "step 600" in rows[0]
        assert "a fork-a 2.2500  b fork-b 1.9000" in rows[1]
        head = head_of_difference(rows)
        assert "a fork-a +0.2500  b fork-b -0.1000" in head
        assert head.rstrip().endswith("at the same step")
        assert sum(row.startswith("       └") for row in rows) == (glyphs is UNICODE)


@pytest.mark.parametrize("height", [24, 14])
@pytest.mark.parametrize("apart", [0.0, 0.25, -0.25, 0.0001])
def test_the_zero_of_the_difference_has_its_tick(apart: float, height: int) -> None:
    shown = data(Other(name="fork-a", series=view(2.0 + apart)))
    rows = lines(shown, height=height)
    below = rows[rows.index(head_of_difference(rows)) + 1 : -2]
    assert sum(row.split("┤")[0].strip() == "0" for row in below) == 1


def test_a_run_that_ended_before_is_read_where_it_ended_and_not_drawn_beyond() -> None:
    shown = data(Other(name="short", series=view(2.25, steps=range(1, 401))))
    rows = draw(shown, Look(), UNICODE, width=110, height=24).rows
    columns = [
        at + column
        for row in rows[1:]
        for at, run in zip(np.cumsum([0, *(cell_len(r.text) for r in row)]), row, strict=False)
        if run.ink in CURVES and "short" not in run.text
        for column in range(cell_len(run.text))
    ]
    assert 8 + 40 <= max(columns) <= 8 + 42
    texts = ["".join(run.text for run in row) for row in rows]
    assert "a short 2.3500" in texts[0]
    assert "a short +0.2500" in head_of_difference(texts)
    beyond = navigation.go_to(Look(), shown, 700)
    assert "a short –" in head_of_difference(lines(shown, beyond))


def test_over_tokens_they_are_compared_where_as_much_was_read() -> None:
    shown = data(Other(name="half", series=view(2.0, tokens=500)))
    look = replace(navigation.go_to(Look(), shown, 200), unit=Unit.TOKENS)
    head = head_of_difference(lines(shown, look))
    # 200,000 tokens are step 400 there: its EMA is 0.2 less.
    assert "a half -0.2000" in head
    assert "at the same tokens" in head


def test_over_time_all_begin_at_the_same_moment() -> None:
    shown = data(Other(name="last month", series=view(2.5, began=1.6e9)))
    look = replace(navigation.go_to(Look(), shown, 900), unit=Unit.TIME)
    assert "a last month +0.5000" in head_of_difference(lines(shown, look))


def test_what_lies_elsewhere_altogether_is_in_the_axis_too() -> None:
    rows = lines(data(Other(name="far", series=view(9.0))), Look(viewport=Viewport(span=100)))
    assert "▲" not in "".join(rows)
    assert max(float(row[:6]) for row in rows[2:12] if row[:6].strip()) >= 5


def test_a_smoothing_of_ones_own_holds_for_all_and_a_thinned_history_forgets_as_fast() -> None:
    whole = view(2.0)
    thin = Series()
    thin.append_many(whole.step[::4], whole.loss[::4], whole.ema[::4])
    shown = data(
        Other(name="whole", series=whole), Other(name="thin", series=thin.view(), stride=4)
    )
    look = replace(navigation.go_to(Look(), shown, 990), smoothing=0.99)
    head = head_of_difference(lines(shown, look))
    assert "a whole +0.0000" in head
    assert abs(float(head.split("b thin ")[1].split()[0])) < 0.02


def test_between_two_records_of_the_other_run_it_lies_on_the_line_between_them() -> None:
    sparse = view(2.25, steps=range(10, 1001, 10))
    shown = data(Other(name="every tenth", series=sparse))
    assert "a every tenth +0.2500" in head_of_difference(
        lines(shown, navigation.go_to(Look(), shown, 255))
    )


@pytest.mark.parametrize(
    "other",
    [
        Series().view(),
        view(2.0, steps=range(5000, 5100)),
        view(2.0, steps=range(7, 8)),
        view(float("nan")),
        view(1e308),
    ],
    ids=["empty", "out of sight", "one record", "NaN", "huge"],
)
@pytest.mark.parametrize("unit", list(Unit))
def test_nothing_that_another_run_holds_breaks_the_chart(other: SeriesView, unit: Unit) -> None:
    shown = data(Other(name="\x1b[31mred\n", series=other))
    for width, height in ((110, 24), (76, 13), (60, 9), (30, 6), (10, 3)):
        for smoothing in (None, 0.98):
            look = Look(unit=unit, smoothing=smoothing, cursor=500)
            rows = lines(shown, look, width=width, height=height)
            assert len(rows) == height
            assert all(cell_len(row) == width and row.isprintable() for row in rows)


def test_the_difference_is_no_track_to_choose() -> None:
    known = navigation.known_tracks(data(Other(name="a", series=view(2.0))))
    assert Track.DIFFERENCE not in known


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize(
    ("track", "own", "other"),
    [
        (Track.SCORE, "score 70.0", "a fork-a 60.0"),
        (Track.VAL_LOSS, "val_loss 2.0000", "a fork-a 2.5000"),
        (Track.GRAD_NORM, "EMA 0.98 0.5000", "a fork-a 0.2500"),
        (Track.LR, "lr 3.00e-04", "a fork-a 1.00e-04"),
        (Track.RATE, "EMA 0.98 100,000", "a fork-a 50,000"),
    ],
)
def test_every_track_that_is_no_arms_has_the_runs_laid_over(
    track: Track, own: str, other: str, unit: Unit
) -> None:
    def run(lr: float, norm: float, ms: float) -> SeriesView:
        series, n = Series(), 1000
        told = {"lr": lr, "grad_norm": norm, "ms": ms, "tokens": 1000.0}
        columns = {name: np.full(n, value) for name, value in told.items()}
        t = 1.7e9 + 10.0 * np.arange(n)
        series.append_many(np.arange(1, n + 1), np.ones(n), np.ones(n), t=t, **columns)
        return series.view()

    def audits(score: float, val_loss: float) -> dict[Track, tuple[Points, ...]]:
        at = np.array([500, 900])
        return {
            Track.SCORE: (Points(name="score", step=at, value=np.array([score, 1.0])),),
            Track.VAL_LOSS: (Points(name="val_loss", step=at, value=np.array([val_loss, 1.0])),),
        }

    fork = Other(name="fork-a", series=run(1e-4, 0.25, 20.0), points=audits(60.0, 2.5))
    shown = ChartData(series=run(3e-4, 0.5, 10.0), points=audits(70.0, 2.0), others=(fork,))
    look = navigation.go_to(Look(tracks=(track,), unit=unit), shown, 600)
    head = lines(shown, look)[1]
    assert own in head
    assert other in head
