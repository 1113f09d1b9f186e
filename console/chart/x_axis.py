"""The line under the chart: ticks in steps, in tokens or in wall-clock time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from console.chart.axis import round_step, step_ticks
from console.chart.cell_rows import Ink, Placed, Row, Run, place, to_runs
from console.chart.glyphs import Glyphs
from console.chart.grid import Grid, Unit

_DAY = 86_400
_INTERVALS = (
    *(60 * minutes for minutes in (1, 2, 5, 10, 30)),
    *(3600 * hours for hours in (1, 2, 6, 12)),
    *(_DAY * days for days in (1, 2, 7, 14, 28, 56, 182, 364)),
)
"""Seconds between two ticks, to choose from."""


def x_axis(grid: Grid, cursors: Sequence[int], glyphs: Glyphs, *, gutter: int) -> list[Row]:
    """The line with its ticks and where the cursors cross it, and under it the ticks' texts."""
    columns = grid.columns
    line = [glyphs.horizontal] * columns
    labels: list[Placed] = []
    for column, text in _ticks(grid, columns):
        line[column] = glyphs.step_tick
        start = min(max(gutter + column - len(text) // 2, 0), gutter + columns - len(text))
        if start >= 0 and (not labels or start > labels[-1].column + len(labels[-1].text)):
            labels.append(Placed(start, text, Ink.TEXT))
    inks = np.full(columns, Ink.AXIS, np.uint8)
    for column in cursors:
        line[column], inks[column] = glyphs.cursor, Ink.CURSOR
    border = Run(" " * (gutter - 1) + glyphs.corner, Ink.AXIS)
    return [(border, *to_runs(np.array(line), inks)), place(labels, gutter + columns)]


def _ticks(grid: Grid, columns: int) -> list[tuple[int, str]]:
    """Columns and texts, from left to right."""
    if grid.unit is Unit.STEP:
        first, last = grid.window
        ticks = step_ticks(first, last, columns)
        return [((step - first) * columns // (last - first + 1), text) for step, text in ticks]
    low, high = grid.first_x, grid.last_x
    found = (
        _token_ticks(low, high, columns)
        if grid.unit is Unit.TOKENS
        else _time_ticks(low, high, columns)
    )
    return [(min(int((x - low) / (high - low) * columns), columns - 1), text) for x, text in found]


def _token_ticks(low: float, high: float, columns: int) -> list[tuple[float, str]]:
    step = round_step((high - low) / max(columns // 12, 1))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(number * step, tokens_text(number * step)) for number in range(first, last + 1)]


def tokens_text(tokens: float) -> str:
    """`950`, `1.2M`, `31.5B`."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.4g}{unit}"
    return f"{tokens:.0f}"


def _time_ticks(low: float, high: float, columns: int) -> list[tuple[float, str]]:
    """At round times of the operator's zone; days by their date, hours within a day by clock."""
    most = max(columns // 14, 1)
    every = next((each for each in _INTERVALS if (high - low) / each <= most), None)
    if every is None:
        every = _DAY * math.ceil((high - low) / most / _DAY)
    try:
        offset = time.localtime(low).tm_gmtoff
        first = math.ceil((low + offset) / every) * every - offset
        layout = "%m-%d" if every >= _DAY else "%m-%d %H:%M"
        return [
            (t, time.strftime(layout, time.localtime(t)))
            for t in range(int(first), int(high) + 1, every)
        ]
    except (OverflowError, ValueError, OSError):
        return []
