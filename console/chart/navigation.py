"""What a key or the mouse makes of a look: pure, from one look to the next."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace

import numpy as np

from console.chart.chart_data import ChartData, Look, run_of
from console.chart.grid import Unit
from console.chart.plot import Drawing, record_read
from console.chart.series import SeriesView
from console.chart.smoothing import STRENGTHS
from console.chart.track import Track
from console.chart.viewport import Viewport, between


def go_to(look: Look, data: ChartData, step: int) -> Look:
    """The cursor on the record nearest to the step, which is brought into sight."""
    view = data.series
    if not len(view):
        return look
    at = int(np.searchsorted(view.step, step))
    if at == len(view) or (at and step - view.step[at - 1] <= view.step[at] - step):
        at -= 1
    return _on_record(look, data, at)


def move(look: Look, data: ChartData, drawing: Drawing, by: int) -> Look:
    """The cursor by so many columns, and by records where a column has one at most."""
    grid, at = drawing.grid, record_read(data, look)
    if grid is None:
        return look
    for _ in range(abs(by)):
        column = grid.column_of_record(at)
        if by > 0:
            at = max(int(grid.starts[column + 1]), at + 1)
        elif (at := int(min(grid.starts[column], at)) - 1) >= grid.starts[0]:
            at = int(grid.starts[grid.column_of_record(at)])
    return _on_record(look, data, min(max(at, 0), len(data.series) - 1))


def move_to_end(look: Look, data: ChartData, *, is_last: bool) -> Look:
    """The cursor on the first or the last step in sight."""
    if not len(data.series):
        return look
    window = look.viewport.window(run_of(data.series))
    return go_to(look, data, window.last if is_last else window.first)


def move_to_mark(look: Look, data: ChartData, by: int) -> Look:
    """The cursor on the next (1) or the last (-1) mark as seen from where it is."""
    view = data.series
    if not len(view):
        return look
    last = len(view) - 1
    steps = [mark.step for mark in data.marks]
    marked = sorted({min(int(at), last) for at in np.searchsorted(view.step, steps)})
    at = record_read(data, look)
    number = bisect_right(marked, at) if by > 0 else bisect_left(marked, at) - 1
    return _on_record(look, data, marked[number]) if 0 <= number < len(marked) else look


def click(look: Look, data: ChartData, drawing: Drawing, column: int, row: int) -> Look:
    """The cursor on that record of a cell whose loss is drawn nearest to it."""
    grid, panel = drawing.grid, drawing.panel
    column -= drawing.gutter
    if grid is None or panel is None or not 0 <= column < grid.columns:
        return look
    begin, end = int(grid.starts[column]), int(grid.starts[column + 1])
    if end - begin < 2:
        return _on_record(look, data, min(max(begin, 0), len(data.series) - 1))
    height = 1 - (row - drawing.top + 0.5) / panel.rows
    # What is beyond the axis is drawn at its edge.
    drawn = np.clip(panel.axis.height(data.series.loss[begin:end]), 0, 1)
    apart = np.abs(drawn - height)
    known = np.isfinite(apart)
    at = int(np.argmin(np.where(known, apart, np.inf))) if known.any() else 0
    return _on_record(look, data, begin + at)


def zoom(look: Look, data: ChartData, factor: float, around: int | None = None) -> Look:
    """Around a step, else round the cursor if it is in sight; else the newest end stays."""
    if not len(data.series):
        return look
    run = run_of(data.series)
    if around is None and look.cursor is not None and look.viewport.window(run).holds(look.cursor):
        around = look.cursor
    return replace(look, viewport=look.viewport.zoomed(run, factor, around))


def zoom_to(look: Look, data: ChartData, drawing: Drawing, columns: tuple[int, int]) -> Look:
    """What lies between two columns of the drawing."""
    first, last = sorted(columns)
    one, other = step_at(drawing, data.series, first), step_at(drawing, data.series, last + 1)
    if one is None or other is None:
        return look
    return replace(look, viewport=between(run_of(data.series), one, max(other - 1, one)))


def step_at(drawing: Drawing, view: SeriesView, column: int) -> int | None:
    """The first step of a column of the drawing; of the nearest one for a place beside it."""
    grid = drawing.grid
    if grid is None:
        return None
    column = min(max(column - drawing.gutter, 0), grid.columns)
    if grid.unit is Unit.STEP:
        return grid.window.first - (-grid.window.span * column // grid.columns)
    return int(view.step[min(int(grid.starts[column]), len(view) - 1)])


def pan(look: Look, data: ChartData, share: float) -> Look:
    """The window by a share of its width, towards the newer if above 0."""
    if not len(data.series):
        return look
    return replace(look, viewport=look.viewport.panned(run_of(data.series), share))


def follow(look: Look) -> Look:
    """No cursor, and the newest in sight."""
    return replace(look, viewport=look.viewport.following(), cursor=None, typed=None)


def is_following(look: Look) -> bool:
    """Whether `follow` would change nothing."""
    return look == follow(look)


def show_whole(look: Look) -> Look:
    """The whole run."""
    return replace(look, viewport=Viewport())


def smoother(look: Look, by: int) -> Look:
    """The next stronger (1) or weaker (-1) smoothing."""
    at = STRENGTHS.index(look.smoothing) + by
    return replace(look, smoothing=STRENGTHS[min(max(at, 0), len(STRENGTHS) - 1)])


def next_unit(look: Look, data: ChartData) -> Look:
    """Drawn over the next of steps, tokens and time that the record tells."""
    view, units = data.series, list(Unit)
    known = {
        Unit.STEP: True,
        Unit.TOKENS: bool((view.tokens > 0).any()),
        Unit.TIME: bool(np.isfinite(view.t).any()),
    }
    begin = units.index(look.unit) + 1
    unit = next(each for each in units[begin:] + units[:begin] if known[each])
    return replace(look, unit=unit)


def known_tracks(data: ChartData) -> tuple[Track, ...]:
    """What the record has anything of."""
    if data.names is not None:
        return (Track.LOSS,)
    view = data.series
    has_arms = len(view.arms) > 0
    told = {
        Track.LOSS: True,
        Track.VAL_LOSS: bool(data.points.get(Track.VAL_LOSS)),
        Track.SCORE: bool(data.points.get(Track.SCORE)),
        Track.RATE: bool(((view.tokens > 0) & (view.ms > 0)).any()),
        Track.LOSS_BY_ARM: has_arms,
        Track.REWARD: has_arms and bool(np.isfinite(view.reward).any()),
        Track.SHARE: has_arms,
    }
    plain = (track for track in Track if track.kind.is_plain)
    told |= {track: bool(np.isfinite(view.column(track)).any()) for track in plain}
    return tuple(track for track in Track if told.get(track))


def next_track(look: Look, data: ChartData) -> Look:
    """The one that is known and comes after the first that is shown, alone."""
    known = known_tracks(data)
    at = known.index(look.tracks[0]) + 1 if look.tracks[0] in known else 0
    return replace(look, tracks=(known[at % len(known)],))


def _on_record(look: Look, data: ChartData, at: int) -> Look:
    run, step = run_of(data.series), int(data.series.step[at])
    return replace(look, cursor=step, viewport=look.viewport.pinned(run).with_step(run, step))
