"""The loss chart as rows of characters, without a terminal: data and a size in, rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from console.chart.axis import LARGEST, Axis, Scale, fit_axis, step_text, step_ticks
from console.chart.cell_rows import Ink, Placed, Row, Run, clipped, place, printable, to_runs
from console.chart.curves import encode, rasterise
from console.chart.glyphs import Dots, Glyphs
from console.chart.series import Series, SeriesView, Values, bucket, column_of
from console.chart.step_marks import Mark, MarkKind, place_labels

_LEAST_WIDTH, _LEAST_HEIGHT = 24, 6  # below this only the numbers are shown
_ROWS_A_TICK = 3


@dataclass(frozen=True, kw_only=True)
class ChartData:
    """All that the chart shows; equal only if it holds the same view of a series."""

    series: SeriesView = field(default_factory=Series().view)
    marks: tuple[Mark, ...] = ()
    names: tuple[str, str] = ("loss", "EMA")
    """What the two curves are called; foreign text."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the operator wants it shown. `window_steps` None is the whole history."""

    scale: Scale = Scale.LOG
    window_steps: int | None = None


def draw(data: ChartData, look: Look, glyphs: Glyphs, *, width: int, height: int) -> list[Row]:
    """`height` rows of exactly `width` cells each, for any size from 0 x 0 up."""
    if width < 1 or height < 1:
        return []
    view = data.series.last(look.window_steps)
    if not len(view):
        return _message("no step yet", glyphs, width, height)
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return _numbers_only(view, data.names, glyphs, width, height)
    return _chart(view, data, look, glyphs, width, height)


def loss_text(value: float) -> str:
    """A loss as people read it: four decimals, or powers of ten where those say nothing."""
    if np.isnan(value):
        return "NaN"
    return f"{value:.4f}" if 0.001 <= abs(value) < 10_000 or value == 0 else f"{value:.3e}"


def _message(text: str, glyphs: Glyphs, width: int, height: int) -> list[Row]:
    text = clipped(text, width, glyphs)
    middle = place([Placed((width - len(text)) // 2, text, Ink.TEXT)], width)
    return [middle if row == height // 2 else place([], width) for row in range(height)]


def _numbers_only(
    view: SeriesView, names: tuple[str, str], glyphs: Glyphs, width: int, height: int
) -> list[Row]:
    """The last loss and, under it, the last EMA, in the longest words that have room."""
    rows = []
    lasts = ((names[0], view.loss[-1], Ink.RAW), (names[1], view.ema[-1], Ink.SMOOTH))
    for name, value, ink in lasts:
        number = loss_text(float(value))
        named = f"{printable(name, glyphs)} {number}"
        fitting = (text for text in (named, number) if cell_len(text) <= width)
        # A number cut short would be another number.
        rows.append(place([Placed(0, next(fitting, glyphs.ellipsis), ink)], width))
    return (rows + [place([], width)] * height)[:height]


def _chart(
    view: SeriesView,
    data: ChartData,
    look: Look,
    glyphs: Glyphs,
    width: int,
    height: int,
) -> list[Row]:
    """Head, labels of the marks (if any), plot, step axis, step labels: from top to bottom."""
    first, last = int(view.step[0]), int(view.step[-1])
    shown = [mark for mark in data.marks if first <= mark.step <= last + 1]
    plot_rows = height - 3 - bool(shown)
    axis, curves = _curves(view, look.scale)
    ticks = _tick_rows(axis, plot_rows)
    gutter = max((len(text) for text in ticks.values()), default=0) + 2
    columns = width - gutter
    at = [(_column(mark.step, first, last, columns), mark) for mark in shown]
    rows = [_head(view, data.names, axis, look, glyphs, width)]
    if shown:
        labels = [p._replace(column=p.column + gutter) for p in place_labels(at, glyphs, columns)]
        rows.append(place(labels, width))
    for row, runs in enumerate(_plot(view, curves, axis, at, glyphs, plot_rows, columns)):
        rows.append((*_gutter(ticks.get(row), gutter, glyphs), *runs))
    return rows + _step_axis(first, last, glyphs, gutter, columns)


def _curves(view: SeriesView, scale: Scale) -> tuple[Axis, tuple[Values, Values]]:
    """The value axis, and loss and EMA with NaN for what that axis can't show."""
    above = 0.0 if scale is Scale.LOG else -LARGEST
    curves = (_within(view.loss, above), _within(view.ema, above))
    low = float(np.fmin(*map(np.fmin.reduce, curves)))
    high = float(np.fmax(*map(np.fmax.reduce, curves)))
    if not np.isnan(low):
        return fit_axis(scale, low, high), curves
    if scale is Scale.LOG:
        return _curves(view, Scale.LINEAR)
    return fit_axis(scale, 0.0, 0.0), curves


def _within(values: Values, above: float) -> Values:
    return np.where((values > above) & (values < LARGEST), values, np.nan)


def _tick_rows(axis: Axis, rows: int) -> dict[int, str]:
    """Which rows of the plot bear a tick, and its text; two ticks are two rows apart at least."""
    ticks: dict[int, str] = {}
    for value, text in axis.ticks(max(3, rows // _ROWS_A_TICK)):
        row = round((1 - float(axis.height(np.array([value]))[0])) * (rows - 1))
        if not {row - 1, row, row + 1} & ticks.keys():
            ticks[row] = text
    return ticks


def _gutter(text: str | None, width: int, glyphs: Glyphs) -> Row:
    if text is None:
        return (Run(" " * (width - 1) + glyphs.vertical, Ink.AXIS),)
    return (Run(text.rjust(width - 2) + " ", Ink.TEXT), Run(glyphs.tick, Ink.AXIS))


def _column(step: int, first: int, last: int, columns: int) -> int:
    return column_of(min(step, last), first=first, last=last, columns=columns)


def _plot(
    view: SeriesView,
    curves: tuple[Values, Values],
    axis: Axis,
    marks: Sequence[tuple[int, Mark]],
    glyphs: Glyphs,
    rows: int,
    columns: int,
) -> list[Row]:
    """The area between the axes: marks, the raw loss over them, the EMA over both."""
    characters = np.full((rows, columns), " ")
    inks: npt.NDArray[np.uint8] = np.zeros((rows, columns), np.uint8)
    for kind in reversed(MarkKind):
        at = [column for column, mark in marks if mark.kind is kind]
        characters[:, at], inks[:, at] = kind.line(glyphs), kind.ink
    layers: list[tuple[Values, Dots, Ink]] = [
        (curves[0], glyphs.raw, Ink.RAW),
        (curves[1], glyphs.smooth, Ink.SMOOTH),
    ]
    for values, dots, ink in layers:
        buckets = bucket(view.step, values, columns * dots.columns)
        layer = encode(rasterise(buckets, axis, rows * dots.rows), dots)
        is_drawn = layer != " "
        characters[is_drawn], inks[is_drawn] = layer[is_drawn], ink
    return [to_runs(*row) for row in zip(characters, inks, strict=True)]


def _step_axis(first: int, last: int, glyphs: Glyphs, gutter: int, columns: int) -> list[Row]:
    line = [glyphs.horizontal] * columns
    labels: list[Placed] = []
    for step, text in step_ticks(first, last, columns):
        column = column_of(step, first=first, last=last, columns=columns)
        line[column] = glyphs.step_tick
        start = min(max(gutter + column - len(text) // 2, 0), gutter + columns - len(text))
        if not labels or start > labels[-1].column + len(labels[-1].text):
            labels.append(Placed(start, text, Ink.TEXT))
    border = Run(" " * (gutter - 1) + glyphs.corner + "".join(line), Ink.AXIS)
    return [(border,), place(labels, gutter + columns)]


def _head(
    view: SeriesView,
    names: tuple[str, str],
    axis: Axis,
    look: Look,
    glyphs: Glyphs,
    width: int,
) -> Row:
    """Key and last values at the left; step, scale and window at the right if there is room."""
    loss, ema = loss_text(float(view.loss[-1])), loss_text(float(view.ema[-1]))
    first, second = (printable(name, glyphs) for name in names)
    left = [
        Placed(1, f"{glyphs.raw_key} {first} {loss}", Ink.RAW),
        Placed(1, f"{glyphs.smooth_key} {second} {ema}", Ink.SMOOTH),
    ]
    left[1] = left[1]._replace(column=left[0].column + cell_len(left[0].text) + 2)
    end = left[1].column + cell_len(left[1].text)
    if end > width:
        return place([Placed(0, clipped(f"{second} {ema}", width, glyphs), Ink.SMOOTH)], width)
    for text in _right_texts(view, axis, look, glyphs):
        if end + 2 + len(text) <= width - 1:
            return place([*left, Placed(width - 1 - len(text), text, Ink.TEXT)], width)
    return place(left, width)


def _right_texts(view: SeriesView, axis: Axis, look: Look, glyphs: Glyphs) -> list[str]:
    """From the fullest to the shortest."""
    window = "all steps" if look.window_steps is None else f"last {look.window_steps:,} steps"
    hidden = int(np.count_nonzero(view.loss <= 0)) if axis.scale is Scale.LOG else 0
    scale = f"{axis.scale} ({hidden:,} at or below 0 not shown)" if hidden else str(axis.scale)
    if axis.scale is not look.scale:
        scale = "linear (no loss above 0)"
    step = f"step {step_text(int(view.step[-1]))}"
    space = f" {glyphs.separator} "
    return [space.join((step, scale, window)), space.join((scale, window)), scale]
