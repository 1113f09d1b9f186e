"""What keys and the mouse make of a look."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from console.chart import navigation
from console.chart.chart_data import ChartData, Look, Points, run_of
from console.chart.glyphs import UNICODE
from console.chart.grid import Unit
from console.chart.plot import Drawing, draw
from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.chart.track import Track
from console.chart.viewport import Viewport


def history(steps: range = range(1, 1001), **columns: object) -> ChartData:
    series = Series()
    losses = [2.0 + step % 7 / 10 for step in steps]
    series.append_many(steps, losses, losses, **columns)  # type: ignore[arg-type]
    return ChartData(series=series.view())


def drawing(data: ChartData, look: Look) -> Drawing:
    return draw(data, look, UNICODE, width=60, height=16)


def pressed(data: ChartData, look: Look, *by: int) -> list[int | None]:
    """The cursor after each of these moves."""
    seen = []
    for each in by:
        look = navigation.move(look, data, drawing(data, look), each)
        seen.append(look.cursor)
    return seen


def test_the_cursor_moves_by_columns_and_back_to_the_same_steps() -> None:
    data = history()
    look = navigation.go_to(Look(), data, 500)
    there = pressed(data, look, 1, 1, 1)
    back = pressed(data, replace(look, cursor=there[-1]), -1, -1)
    assert back == [there[1], there[0]]
    starts = [500, *(step for step in there if step is not None)]
    widths = [after - before for before, after in pairwise(starts[1:])]
    assert all(width in (19, 20) for width in widths), "52 columns share 1,000 steps"


def test_the_cursor_moves_by_steps_where_a_column_has_one() -> None:
    data = history()
    look = navigation.go_to(Look(viewport=Viewport(span=20, last=510)), data, 500)
    assert pressed(data, look, 1, 1, -1, -1, -1) == [501, 502, 501, 500, 499]


def test_the_cursor_passes_over_steps_without_a_record() -> None:
    data = history(range(10, 1001, 10))
    look = navigation.go_to(Look(viewport=Viewport(span=100, last=600)), data, 555)
    assert look.cursor == 550
    assert pressed(data, look, 1, 1, -1) == [560, 570, 560]


def test_a_cursor_that_leaves_the_window_takes_it_along() -> None:
    data = history()
    look = navigation.go_to(Look(viewport=Viewport(span=20)), data, 981)
    look = navigation.move(look, data, drawing(data, look), -1)
    assert look.cursor == 980
    assert look.viewport.window(run_of(data.series)).holds(980)


def test_the_cursor_stops_at_both_ends_of_the_history() -> None:
    data = history()
    assert pressed(data, navigation.go_to(Look(), data, 1), -1) == [1]
    assert pressed(data, navigation.go_to(Look(), data, 1000), 1) == [1000]


def test_a_window_with_a_cursor_in_it_stands_still_until_it_is_followed_again() -> None:
    data = history()
    look = navigation.go_to(Look(viewport=Viewport(span=100)), data, 950)
    longer = history(range(1, 2001))
    assert look.viewport.window(run_of(longer.series)) == (901, 1000)
    followed = navigation.follow(look)
    assert followed == Look(viewport=Viewport(span=100))
    assert navigation.is_following(followed)


def test_marks_are_gone_through_in_both_directions_and_end() -> None:
    marks = tuple(Mark(step=at, label="", kind=MarkKind.RESTART) for at in (100, 400, 400, 1001))
    data = replace(history(), marks=marks)
    seen, look = [], Look()
    for by in (-1, -1, -1, 1, 1, 1):
        look = navigation.move_to_mark(look, data, by)
        seen.append(look.cursor)
    assert seen == [400, 100, 100, 400, 1000, 1000], "a mark of the step to come is at the newest"


def test_alarms_are_gone_to_as_marks_are_and_read_where_they_were_raised() -> None:
    mark = Mark(step=400, label="phase 2", kind=MarkKind.PHASE)
    told = (
        Mark(step=700, label="no \x1b[31mroom", kind=MarkKind.ALARM),
        Mark(step=2000, label="a stall", kind=MarkKind.ALARM),
    )
    data = replace(history(), marks=(mark, *told))
    look = navigation.go_to(Look(), data, 500)
    heads = []
    for by in (1, 1, -1, -1):
        look = navigation.move_to_mark(look, data, by)
        row = draw(data, look, UNICODE, width=200, height=20).rows[0]
        heads.append("".join(run.text for run in row))
    for head, step, words in zip(
        heads,
        ("step 700", "step 1,000", "step 700", "step 400"),
        ("no [31mroom", "a stall", "no [31mroom", "phase 2"),
        strict=True,
    ):
        assert step in head
        assert words in head
    drawn = draw(data, Look(), UNICODE, width=60, height=20).rows
    assert any("╏no [31mroom" in "".join(run.text for run in row) for row in drawn)
    narrow = navigation.move_to_mark(navigation.go_to(Look(), data, 600), data, 1)
    row = draw(data, narrow, UNICODE, width=60, height=20).rows[0]
    assert "no [31mroom" in "".join(run.text for run in row)


def test_home_and_end_are_the_ends_of_what_is_in_sight() -> None:
    data, look = history(), Look(viewport=Viewport(span=100, last=500))
    assert navigation.move_to_end(look, data, is_last=False).cursor == 401
    assert navigation.move_to_end(look, data, is_last=True).cursor == 500


def test_no_key_fails_before_there_is_a_step() -> None:
    data, look = ChartData(), Look()
    empty = drawing(data, look)
    assert navigation.move(look, data, empty, 1) is look
    assert navigation.go_to(look, data, 5) is look
    assert navigation.move_to_mark(look, data, 1) is look
    assert navigation.move_to_end(look, data, is_last=True) is look
    assert navigation.zoom(look, data, 0.5) is look
    assert navigation.pan(look, data, 1) is look
    assert navigation.click(look, data, empty, 3, 3) is look
    assert navigation.zoom_to(look, data, empty, (3, 9)) is look
    assert navigation.next_track(look, data) == look
    assert navigation.next_unit(look, data) == look


def test_a_range_drawn_with_the_mouse_is_what_is_in_sight_then() -> None:
    data, look = history(), Look()
    drawn = drawing(data, look)
    left = drawn.gutter + drawn.grid.columns // 4  # type: ignore[union-attr]
    right = drawn.gutter + drawn.grid.columns // 2 - 1  # type: ignore[union-attr]
    window = navigation.zoom_to(look, data, drawn, (right, left)).viewport.window(
        run_of(data.series)
    )
    assert window == (251, 500)


def test_units_and_tracks_that_nothing_is_recorded_of_are_passed_over() -> None:
    bare = history()
    assert navigation.next_unit(Look(), bare).unit is Unit.STEP
    assert navigation.known_tracks(bare) == (Track.LOSS,)
    points = Points(name="score", step=np.array([5]), value=np.array([50.0]))
    told = replace(
        history(t=[1e9 + step for step in range(1000)], lr=[1e-4] * 1000),
        points={Track.SCORE: (points,)},
    )
    assert navigation.next_unit(Look(), told).unit is Unit.TIME
    assert navigation.known_tracks(told) == (Track.LOSS, Track.SCORE, Track.LR)
    look, seen = Look(), []
    for _ in range(3):
        look = navigation.next_track(look, told)
        seen.append(look.tracks)
    assert seen == [(Track.SCORE,), (Track.LR,), (Track.LOSS,)]


@pytest.mark.parametrize(("by", "wanted"), [(-1, None), (1, 0.0)])
def test_smoothing_stops_at_the_weakest(by: int, wanted: float | None) -> None:
    assert navigation.smoother(Look(), by).smoothing == wanted
