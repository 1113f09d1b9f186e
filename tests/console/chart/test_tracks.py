"""Tracks, units, outliers, overview and the reading of a cursor, as they are drawn."""

from dataclasses import replace

import numpy as np
import pytest

from console.chart import navigation
from console.chart.axis import Scale
from console.chart.chart_data import ChartData, Look, Points
from console.chart.glyphs import ASCII, UNICODE, Glyphs
from console.chart.grid import Unit
from console.chart.plot import draw
from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.chart.track import Field, Track
from console.chart.viewport import Viewport

SECOND_ARM = "wiki [red]\x1b[31m"
N = 2000


def told() -> ChartData:
    """Everything is recorded; training paused for a day in the middle; a spike at 500."""
    series, step = Series(), np.arange(1, N + 1)
    loss = 2.5 + np.sin(step) / 10
    loss[499] = 61.5
    series.append_many(
        step,
        loss,
        np.full(N, 2.5),
        lr=np.full(N, 3e-4),
        grad_norm=np.full(N, 0.75),
        reward=np.where(step % 2, 0.25, 0.75),
        tokens=np.full(N, 1000),
        ms=np.full(N, 500),
        t=1.7e9 + 10.0 * step + 86_400 * (step > N // 2),
        arm=series.codes_of(["books" if at % 4 else SECOND_ARM for at in step.tolist()]),
    )
    scores = Points(name="score", step=np.array([500, 1000]), value=np.array([40.0, 75.0]))
    losses = tuple(
        Points(name=name, step=np.array([500, 1000]), value=np.array([3.0, value]))
        for name, value in (("val_loss", 2.9), ("books", 2.8))
    )
    marks = (Mark(step=500, label="phase 2: lr halved", kind=MarkKind.PHASE),)
    points = {Track.SCORE: (scores,), Track.VAL_LOSS: losses}
    return ChartData(series=series.view(), marks=marks, points=points)


def lines(
    look: Look,
    glyphs: Glyphs = UNICODE,
    *,
    width: int = 110,
    height: int = 24,
    data: ChartData | None = None,
) -> list[str]:
    rows = draw(data or told(), look, glyphs, width=width, height=height).rows
    return ["".join(run.text for run in row) for row in rows]


def at(step: int, look: Look | None = None) -> Look:
    return navigation.go_to(look or Look(), told(), step)


def test_with_room_the_cursor_reads_every_digit_that_says_anything() -> None:
    head = lines(at(501), width=158)[0]
    for fact in ("loss 2.400353", "EMA 2.500000", "lr 3.000000e-04", "grad_norm 0.750000"):
        assert fact in head
    assert "500.0 ms" in head


def test_the_cursor_reads_all_that_the_record_tells() -> None:
    head = lines(at(500), width=145)[0]
    for fact in ("step 500", "loss 61.5000", "EMA 2.5000", "lr 3.00e-04", "grad_norm 0.75"):
        assert fact in head
    for fact in ("arm wiki [red][31m", "500 ms", "2023-11-1", "phase 2: lr halved"):
        assert fact in head


def test_at_80_columns_the_reading_keeps_loss_lr_arm_and_time() -> None:
    head = lines(at(501), width=76)[0]
    for fact in ("501", "loss 2.4004", "lr 3.00e-04", "books", "11-14 23:"):
        assert fact in head
    assert len(head) == 76


def test_a_narrow_reading_leaves_facts_out_and_cuts_none() -> None:
    for width in range(24, 150):
        head = lines(at(500), width=width, height=8)[0]
        assert "500 loss 61.5000" in head or "step 500 · loss 61.5000" in head
        assert len(head) == width


def test_a_spike_is_marked_at_the_edge_and_the_axis_fits_what_is_usual() -> None:
    for glyphs, arrow in ((UNICODE, "▲"), (ASCII, "^")):
        rows = lines(Look(), glyphs)
        assert arrow in rows[2]
        ticks = [float(row[:6]) for row in rows[2:-2] if row[:6].strip()]
        assert max(ticks) < 3


def test_the_axis_fits_the_window_and_the_strip_shows_where_it_lies() -> None:
    rows = lines(Look(viewport=Viewport(span=200, last=1100)))
    strip = rows[0]
    assert strip.index("[") == pytest.approx(8 + 102 * 0.45, abs=2)
    assert strip.index("]") == pytest.approx(8 + 102 * 0.55, abs=2)
    assert "steps 901 to 1,100" in rows[1]
    assert "1,000" in rows[-1]
    assert "[" not in lines(Look())[0]


def test_a_low_chart_has_no_strip() -> None:
    rows = lines(Look(viewport=Viewport(span=200)), height=9)
    assert "last 200 steps" in rows[0]


@pytest.mark.parametrize(
    ("track", "said"),
    [
        (Track.SCORE, "score 40.0"),
        (Track.VAL_LOSS, "a val_loss 3.0000  b books 3.0000"),
        (Track.GRAD_NORM, "grad_norm 0.7500"),
        (Track.LR, "lr 3.00e-04"),
        (Track.RATE, "tokens/s 2,000"),
        (Track.REWARD, "a books 0."),
        (Track.SHARE, "b wiki [red][31m "),
        (Track.LOSS_BY_ARM, "loss by arm  a books 2."),
    ],
)
def test_each_track_says_what_it_was_at_the_cursor(track: Track, said: str) -> None:
    for glyphs in (UNICODE, ASCII):
        rows = lines(at(600, Look(tracks=(Track.LOSS, track))), glyphs)
        head = next(row for row in rows[1:] if said in row)
        assert head.isprintable()
        assert {len(row) for row in rows} == {110}
    assert any(row.startswith(" 600") or "step 600" in row for row in rows)


@pytest.mark.parametrize("track", [track for track in Track if track.kind.is_plain])
def test_a_plain_track_draws_the_column_of_its_name(track: Track) -> None:
    series = Series()
    series.append_many([1, 2, 3], [2.0] * 3, [2.0] * 3, **{track: [0.25, 0.5, 0.125]})
    data = ChartData(series=series.view())
    assert set(navigation.known_tracks(data)) == {Track.LOSS, track}
    assert any(
        f"{track} {track.text(0.125)}" in row for row in lines(Look(tracks=(track,)), data=data)
    )


@pytest.mark.parametrize("track", [Track.GRAD_NORM, Track.RATE, Field("weight")])
def test_what_is_noisy_has_its_smoothed_line_over_a_band_and_all_its_dots_zoomed_in(
    track: Track | Field,
) -> None:
    step = np.arange(1, 4001)
    noise = np.random.default_rng(0).uniform(0.5, 1.5, len(step))
    series = Series()
    series.append_many(
        step, noise, noise, grad_norm=noise, tokens=1000 * noise, ms=np.ones(len(step))
    )
    field = Points(name="weight", step=step, value=noise)
    data = ChartData(series=series.view(), fields=(field,))
    crowded = lines(Look(tracks=(track,)), data=data, height=12)
    assert "EMA 0.98" in crowded[0]
    assert any(character in "".join(crowded[1:]) for character in "▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")
    assert "⣿" not in "".join(crowded), "the line would not be seen"
    look = Look(tracks=(track,), viewport=Viewport(span=50), smoothing=0.9)
    near = lines(look, data=data, height=12)
    assert "EMA 0.9 " in near[1] or "EMA 0.9 " in near[0]
    assert any(character in "".join(near[1:]) for character in "⡇⢸⣿")


def test_a_field_has_the_axis_that_was_chosen_where_all_of_it_is_above_0() -> None:
    step = np.arange(1, N + 1)
    above = Points(name="weight", step=step, value=np.float64(10.0) ** (step / 400))
    for values, scale in (
        (above, "log"),
        (replace(above, value=step.astype(np.float64) - 9), "linear (not all"),
    ):
        data = replace(told(), fields=(values,))
        head = lines(Look(tracks=(Field("weight"),)), data=data)[0]
        assert scale in head
    linear = Look(tracks=(Field("weight"),), scale=Scale.LINEAR)
    assert "· linear ·" in lines(linear, data=data)[0]


def test_a_field_without_a_value_is_drawn_as_nothing() -> None:
    field = Points(name="weight", step=np.array([], np.int64), value=np.array([]))
    data = replace(told(), fields=(field,))
    assert "weight: nothing recorded" in lines(Look(tracks=(Field("weight"),)), data=data)[0]


def test_tracks_share_one_axis_and_those_without_room_are_counted() -> None:
    look = Look(tracks=navigation.known_tracks(told()))
    rows = lines(look, height=24)
    assert sum("└" in row for row in rows) == 1
    assert any(f"{len(look.tracks) - 5} more, no room" in row for row in rows)
    assert f"{len(look.tracks) - 1} more, no room" in lines(look, height=8)[0]


def test_what_is_not_recorded_is_said() -> None:
    series = Series()
    series.append_many([1, 2], [2.0, 2.0], [2.0, 2.0])
    data = ChartData(series=series.view())
    for track in Track:
        rows = draw(data, Look(tracks=(track,)), UNICODE, width=60, height=12).rows
        head = "".join(run.text for run in rows[0])
        assert track is Track.LOSS or f"{track}: nothing recorded" in head


def test_over_time_a_day_without_training_is_a_gap() -> None:
    rows = lines(Look(unit=Unit.TIME))
    body = [row[8:] for row in rows[2:-2]]
    assert all(row[40:85].strip() == "" for row in body), "the day is four fifths of the time"
    assert any(row[:8].strip() for row in body)
    assert any(row[95:].strip() for row in body)
    assert "by time" in rows[0]
    assert "11-15" in rows[-1]


def test_over_tokens_the_axis_counts_these() -> None:
    rows = lines(Look(unit=Unit.TOKENS))
    assert "by tokens" in rows[0]
    assert "1M" in rows[-1]


def test_smoothing_is_named_and_drawn_from_the_raw_loss() -> None:
    weak, strong = (lines(Look(smoothing=strength)) for strength in (0.6, 0.998))
    assert "EMA 0.6 2." in weak[0]
    assert "EMA 0.998 2." in strong[0]
    assert weak[1:] != strong[1:]


def test_two_runs_are_never_smoothed() -> None:
    data = replace(told(), names=("first", "second"))
    one, other = (
        draw(data, Look(smoothing=strength), UNICODE, width=80, height=20).rows
        for strength in (None, 0.998)
    )
    assert one == other


def test_any_look_at_any_size_fills_the_size_exactly() -> None:
    for unit in Unit:
        for look in (
            Look(unit=unit, tracks=tuple(Track)),
            at(500, Look(unit=unit, tracks=(Track.SHARE, Track.SCORE))),
            Look(unit=unit, viewport=Viewport(span=10, last=40), typed="12"),
            Look(unit=unit, viewport=Viewport(span=300), band=(3, 700)),
        ):
            for glyphs in (UNICODE, ASCII):
                for width, height in ((1, 1), (24, 6), (25, 7), (33, 11), (80, 24), (160, 45)):
                    rows = lines(look, glyphs, width=width, height=height)
                    assert [len(row) for row in rows] == [width] * height
                    assert glyphs is UNICODE or all(row.isascii() for row in rows)


@pytest.mark.parametrize("unit", list(Unit))
def test_a_field_of_the_trainers_own_is_read_as_it_was_last(unit: Unit) -> None:
    step = np.arange(10, N + 1, 10)
    own = Points(name="mfu [red]\x1b[31m", step=step, value=step / 1000)
    data = replace(told(), fields=(own,))
    field = Field(own.name)
    look = replace(navigation.go_to(Look(tracks=(Track.LOSS, field)), data, 609), unit=unit)
    for glyphs in (UNICODE, ASCII):
        rows = draw(data, look, glyphs, width=110, height=24).rows
        texts = ["".join(run.text for run in row) for row in rows]
        assert any("mfu [red][31m 0.6" in text for text in texts)
        assert all(text.isprintable() and len(text) == 110 for text in texts)
    late = replace(data, fields=(replace(own, step=step + 5 * N),))
    texts = [
        "".join(run.text for run in row)
        for row in draw(late, look, UNICODE, width=110, height=24).rows
    ]
    assert any("mfu [red][31m: nothing recorded" in text for text in texts)
    assert all("mfu" not in line for line in lines(look)[:2])
