"""The whole run in one row, with the window in it."""

from __future__ import annotations

import numpy as np

from console.chart.cell_rows import Ink, Row, Run
from console.chart.chart_data import ChartData, run_of
from console.chart.glyphs import Glyphs
from console.chart.grid import Grid, make_grid
from console.chart.kept import Kept
from console.chart.quantiles import quantiles


def overview(
    data: ChartData, grid: Grid, kept: Kept, glyphs: Glyphs, *, gutter: int, columns: int
) -> Row:
    """The smoothed loss as levels, and brackets round what `grid` has in sight."""
    whole = make_grid(data.series, run_of(data.series), grid.unit, columns, kept)
    buckets = whole.bucket(data.series.ema)
    characters = _levels((buckets.low + buckets.high) / 2, glyphs)
    first = whole.column_of_step(data.series, grid.window.first)
    last = whole.column_of_step(data.series, grid.window.last)
    first, last = _apart(first, last, columns)
    characters[first], characters[last] = "[", "]"
    text = "".join(characters)
    return (
        Run(" " * gutter, Ink.BLANK),
        *(
            Run(part, ink)
            for part, ink in (
                (text[:first], Ink.AXIS),
                (text[first : last + 1], Ink.WINDOW),
                (text[last + 1 :], Ink.AXIS),
            )
            if part
        ),
    )


def _apart(first: int, last: int, columns: int) -> tuple[int, int]:
    """Both brackets have a column."""
    if last > first:
        return first, last
    return (first, first + 1) if first + 1 < columns else (first - 1, first)


def _levels(values: np.ndarray, glyphs: Glyphs) -> list[str]:
    known = values[np.isfinite(values)]
    if not len(known):
        return [" "] * len(values)
    low, high = float(known.min()), quantiles(known, (0.98,))[0]
    scaled = (values - low) / ((high - low) or 1.0)
    top = len(glyphs.levels) - 1
    return [
        " " if np.isnan(value) else glyphs.levels[round(min(max(value, 0.0), 1.0) * top)]
        for value in scaled.tolist()
    ]
