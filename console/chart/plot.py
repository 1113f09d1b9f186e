"""The chart as rows of characters, without a terminal: data and a size in, rows out."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from console.chart.axis import Scale, step_text
from console.chart.cell_rows import Ink, Placed, Row, clipped, place, printable
from console.chart.chart_data import ChartData, Look, run_of
from console.chart.curve import Source
from console.chart.glyphs import Glyphs
from console.chart.grid import Grid, Unit, make_grid
from console.chart.kept import Kept
from console.chart.overview import overview
from console.chart.panel import Panel, draw_panel, fit_panel, place_head
from console.chart.reading import reading
from console.chart.step_marks import Mark, place_labels
from console.chart.track import Field, Track
from console.chart.tracks import curves_of, scale_of
from console.chart.value_text import loss_text
from console.chart.viewport import Extent
from console.chart.x_axis import x_axis

_LEAST_WIDTH, _LEAST_HEIGHT = 24, 6  # below this only the numbers are shown
_LEAST_PANEL = 4
"""Rows of a further panel: its head and three of curves."""
_GUTTER = 8
"""Cells left of the curves, more where a tick needs them: the same in most windows."""
_STRIP_HEIGHT = 10
"""A chart of so many rows has room for the overview."""
_DIFFERENCE_HEIGHTS = ((20, 3), (12, 2), (9, 0))
"""In so many rows the difference to other runs has so many of curves, under its key."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """The rows, and what a place in them stands for; no grid where nothing is drawn over steps."""

    rows: list[Row]
    grid: Grid | None = None
    """One column a cell."""
    gutter: int = 0
    top: int = 0
    """Row in which the first panel's curves begin."""
    panel: Panel | None = None
    """The first one."""


def draw(
    data: ChartData,
    look: Look,
    glyphs: Glyphs,
    *,
    width: int,
    height: int,
    kept: Kept | None = None,
) -> Drawing:
    """`height` rows of exactly `width` cells each, for any size from 0 x 0 up."""
    if width < 1 or height < 1:
        return Drawing(rows=[])
    if not len(data.series):
        return Drawing(rows=_message("no step yet", glyphs, width, height))
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return Drawing(rows=_numbers_only(data, look, glyphs, width, height))
    return _chart(data, look, glyphs, width, height, kept or Kept())


def record_read(data: ChartData, look: Look) -> int:
    """Index of the record under the cursor, else of the newest."""
    at = None if look.cursor is None else data.series.at(look.cursor)
    return len(data.series) - 1 if at is None else at


def _message(text: str, glyphs: Glyphs, width: int, height: int) -> list[Row]:
    text = clipped(text, width, glyphs)
    middle = place([Placed((width - len(text)) // 2, text, Ink.TEXT)], width)
    return [middle if row == height // 2 else place([], width) for row in range(height)]


def _numbers_only(
    data: ChartData, look: Look, glyphs: Glyphs, width: int, height: int
) -> list[Row]:
    """The loss and, under it, the EMA, in the longest words that have room."""
    rows = []
    view, at = data.series, record_read(data, look)
    names = data.names or ("loss", "EMA")
    lasts = ((names[0], view.loss[at], Ink.RAW), (names[1], view.ema[at], Ink.SMOOTH))
    for name, value, ink in lasts:
        number = loss_text(float(value))
        named = f"{printable(name, glyphs)} {number}"
        fitting = (text for text in (named, number) if cell_len(text) <= width)
        # A number cut short would be another number.
        rows.append(place([Placed(0, next(fitting, glyphs.ellipsis), ink)], width))
    return (rows + [place([], width)] * height)[:height]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """Which rows there are and what is in sight."""

    window: Extent
    marks: tuple[Mark, ...]
    has_strip: bool
    is_reading_apart: bool
    """In a row of its own: the first panel's head has a key that is needed."""
    heights: list[int]
    """Rows of curves of each panel that has room."""
    difference: int | None
    """Rows of curves of the strip with the difference; `None`: there is none."""


def _plan(data: ChartData, look: Look, height: int) -> _Plan:
    run = run_of(data.series)
    window = look.viewport.window(run)
    marks = tuple(mark for mark in data.marks if window.first <= mark.step <= window.last + 1)
    has_strip = window != run and height >= _STRIP_HEIGHT
    has_reading = look.cursor is not None or look.typed is not None
    is_key_needed = look.tracks[0] is not Track.LOSS or data.others
    is_apart = bool(has_reading and is_key_needed and height > _LEAST_HEIGHT)
    difference = _difference_rows(data, look, height)
    rows = height - 2 - has_strip - bool(marks) - is_apart
    rows -= 0 if difference is None else 1 + difference
    count = max(min(len(look.tracks), rows // _LEAST_PANEL), 1)
    share, more = divmod(rows, count)
    return _Plan(
        window=window,
        marks=marks,
        has_strip=has_strip,
        is_reading_apart=is_apart,
        heights=[share + (number < more) - 1 for number in range(count)],
        difference=difference,
    )


def _difference_rows(data: ChartData, look: Look, height: int) -> int | None:
    if not data.others or Track.LOSS not in look.tracks:
        return None
    return next((rows for least, rows in _DIFFERENCE_HEIGHTS if height >= least), None)


def _chart(
    data: ChartData, look: Look, glyphs: Glyphs, width: int, height: int, kept: Kept
) -> Drawing:
    """Overview, heads, labels of the marks, panels, step axis, step labels: top to bottom."""
    plan = _plan(data, look, height)
    gutter = _GUTTER
    panels, grid = _panels(data, look, plan, glyphs, width - gutter, kept)
    ticks = [text for panel in panels for text in panel.ticks().values()]
    if (wanted := max(map(len, ticks), default=0) + 2) > gutter:
        gutter = wanted
        panels, grid = _panels(data, look, plan, glyphs, width - gutter, kept)
    columns = grid.columns
    rows: list[Row] = []
    if plan.has_strip:
        rows.append(overview(data, grid, kept, glyphs, gutter=gutter, columns=columns))
    rows.extend(_heads(data, look, plan, panels[0], glyphs, width))
    at = [(grid.column_of_step(data.series, mark.step), mark) for mark in plan.marks]
    if plan.marks:
        labels = [p._replace(column=p.column + gutter) for p in place_labels(at, glyphs, columns)]
        rows.append(place(labels, width))
    top = len(rows)
    cursors = _cursors(data, look, plan, grid)
    for number, panel in enumerate(panels):
        if panel.track is Track.DIFFERENCE:
            rows.append(place_head(panel, [f"at the same {look.unit}"], glyphs, width))
        elif number:
            rows.append(_panel_head(panel, look, number, len(plan.heights), glyphs, width))
        rows += draw_panel(panel, at, cursors, glyphs, gutter=gutter, columns=columns)
    rows += x_axis(grid, cursors, glyphs, gutter=gutter)
    return Drawing(rows=rows, grid=grid, gutter=gutter, top=top, panel=panels[0])


def _panels(
    data: ChartData, look: Look, plan: _Plan, glyphs: Glyphs, columns: int, kept: Kept
) -> tuple[list[Panel], Grid]:
    """The panels that have room, and the grid whose columns are the cells."""
    dots = glyphs.raw.columns
    grid = make_grid(data.series, plan.window, look.unit, columns * dots, kept)
    source = Source(data=data, look=look, grid=grid, kept=kept, at=record_read(data, look))
    shown = list(zip(look.tracks, plan.heights, strict=False))
    if plan.difference is not None:
        shown.append((Track.DIFFERENCE, plan.difference))
    panels = [
        fit_panel(track, curves_of(track, source), scale_of(track, look), rows)
        for track, rows in shown
    ]
    return panels, grid.coarser(dots)


def _cursors(data: ChartData, look: Look, plan: _Plan, grid: Grid) -> list[int]:
    columns = [] if look.band is None else [min(at, grid.columns - 1) for at in look.band]
    if look.cursor is not None and plan.window.holds(look.cursor):
        columns.append(grid.column_of_step(data.series, look.cursor))
    return columns


def _heads(
    data: ChartData, look: Look, plan: _Plan, panel: Panel, glyphs: Glyphs, width: int
) -> list[Row]:
    """The reading of the cursor, or what is being typed; the first panel's key but for these."""
    told: list[Row] = []
    if look.typed is not None:
        text = f"go to step {look.typed}{glyphs.cursor}  Enter goes, Esc doesn't"
        told = [place([Placed(1, clipped(text, width - 1, glyphs), Ink.CURSOR)], width)]
    elif look.cursor is not None:
        told = [reading(data.series, record_read(data, look), data.marks, glyphs, width)]
    if told and not plan.is_reading_apart:
        return told
    return [*told, place_head(panel, _right_texts(data, look, panel, plan, glyphs), glyphs, width)]


def _panel_head(
    panel: Panel, look: Look, number: int, count: int, glyphs: Glyphs, width: int
) -> Row:
    """The key of a further panel; the last says how many tracks had no room."""
    left_out = len(look.tracks) - count
    is_said = left_out and number == count - 1
    right = [f"{left_out} more, no room"] if is_said else []
    return place_head(panel, right, glyphs, width)


def _right_texts(
    data: ChartData, look: Look, panel: Panel, plan: _Plan, glyphs: Glyphs
) -> list[str]:
    """From the fullest to the shortest."""
    view = data.series
    scale = _scale_text(look, panel)
    step = f"step {step_text(int(view.step[-1]))}"
    window = _window_text(look, plan.window, run_of(view))
    by = () if look.unit is Unit.STEP else (f"by {look.unit}",)
    left_out = len(look.tracks) - len(plan.heights)
    more = (f"{left_out} more, no room",) if left_out and len(plan.heights) == 1 else ()
    space = f" {glyphs.separator} "
    texts = [(step, scale, window, *by, *more), (scale, window, *by, *more), (window, *more)]
    return [*map(space.join, texts), space.join(more) or scale, scale]


def _scale_text(look: Look, panel: Panel) -> str:
    scale = panel.axis.scale
    if scale_of(panel.track, look) is not scale:
        is_field = isinstance(panel.track, Field)
        return f"linear ({'not all' if is_field else f'no {panel.track}'} above 0)"
    if panel.track is not Track.LOSS or scale is not Scale.LOG:
        return str(scale)
    hidden = sum(curve.n_hidden for curve in panel.curves)
    return f"{scale} ({hidden:,} at or below 0 not shown)" if hidden else str(scale)


def _window_text(look: Look, window: Extent, run: Extent) -> str:
    if window == run:
        return "all steps"
    if look.viewport.last is None:
        return f"last {window.span:,} steps"
    return f"steps {window.first:,} to {window.last:,}"
