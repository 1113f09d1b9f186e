"""How the records in sight fall into a chart's columns, and what is left of them there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from console.chart.axis import LARGEST
from console.chart.grown import Grown
from console.chart.kept import Kept
from console.chart.quantiles import median
from console.chart.series import Figures, SeriesView, Steps, Values
from console.chart.viewport import Extent

_GAP_SECONDS = 600.0
_GAP_FACTOR = 20
"""A stretch without records is a gap in time if it is longer than this many usual steps."""


class Unit(StrEnum):
    """What the chart is drawn over."""

    STEP = "step"
    TOKENS = "tokens"
    TIME = "time"


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Buckets:
    """What each column holds; all arrays have shape (columns,).

    `low` and `high` are the least and greatest value, NaN where there is none.
    `is_empty` marks columns without any record, which are between records, not gaps.
    """

    low: Values
    high: Values
    is_empty: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Grid:
    """The window cut into columns.

    `starts`, shape (columns + 1,): the index of the first record of each column, and of the
    first behind the last one. `x` of the window's two ends is in the unit of the axis.
    """

    unit: Unit
    window: Extent
    first_x: float
    last_x: float
    starts: npt.NDArray[np.intp]
    is_gap: npt.NDArray[np.bool_]
    """Columns in which nothing was trained; shape (columns,)."""

    @property
    def columns(self) -> int:
        return len(self.starts) - 1

    @property
    def records(self) -> slice:
        """The records in sight."""
        return slice(int(self.starts[0]), int(self.starts[-1]))

    def coarser(self, factor: int) -> Grid:
        """The same window in `factor` times fewer columns."""
        gap: npt.NDArray[np.bool_] = np.all(self.is_gap.reshape(-1, factor), axis=1)
        return Grid(
            unit=self.unit,
            window=self.window,
            first_x=self.first_x,
            last_x=self.last_x,
            starts=self.starts[::factor],
            is_gap=gap,
        )

    def column_of_record(self, index: int) -> int:
        """The column that holds the record; the nearest end for one out of sight."""
        column = int(np.searchsorted(self.starts, index, side="right")) - 1
        return min(max(column, 0), self.columns - 1)

    def column_of_step(self, view: SeriesView, step: int) -> int:
        """Where a step stands, one without a record too."""
        if self.unit is Unit.STEP:
            step = min(max(step, self.window.first), self.window.last)
            return column_of(step, *self.window, columns=self.columns)
        return self.column_of_record(int(np.searchsorted(view.step, step)))

    def newest(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The last record of each column, and which columns have none: there it is any other one;
        both of shape (columns,).
        """
        return np.maximum(self.starts[1:] - 1, 0), self.starts[1:] == self.starts[:-1]

    def bucket(self, values: npt.NDArray[np.floating], above: float = -LARGEST) -> Buckets:
        """Reduce values, one of each record of the run; a spike of one step survives.

        What is not above `above` or not below `LARGEST` counts as NaN. O(records in sight).
        """
        shown = values[self.records]
        buckets = self._reduced(shown)
        with np.errstate(invalid="ignore"):
            is_fit = not ((buckets.low <= above).any() or (buckets.high >= LARGEST).any())
            if is_fit:
                return buckets
            return self._reduced(np.where((shown > above) & (shown < LARGEST), shown, np.nan))

    def ends(self, values: npt.NDArray[np.floating], above: float = -LARGEST) -> Buckets:
        """A line: of each column the value of its last record, as above. O(columns)."""
        at, is_empty = self.newest()
        found = values[at].astype(np.float64) if len(values) else np.full(self.columns, np.nan)
        with np.errstate(invalid="ignore"):
            found[is_empty | ~((found > above) & (found < LARGEST))] = np.nan
        return Buckets(low=found, high=found.copy(), is_empty=is_empty & ~self.is_gap)

    def _reduced(self, shown: npt.NDArray[np.floating]) -> Buckets:
        starts = self.starts - self.starts[0]
        is_empty = starts[:-1] == starts[1:]
        # reduceat can't express an empty segment; the starts of the others are the right borders.
        segments = starts[:-1][~is_empty]
        low, high = np.full(self.columns, np.nan), np.full(self.columns, np.nan)
        if len(segments):
            low[~is_empty] = np.fmin.reduceat(shown, segments)
            high[~is_empty] = np.fmax.reduceat(shown, segments)
        return Buckets(low=low, high=high, is_empty=is_empty & ~self.is_gap)


def column_of(step: int, first: int, last: int, *, columns: int) -> int:
    """The column of a step when `first`..`last` (both included) share `columns` columns."""
    return (step - first) * columns // (last - first + 1)


def make_grid(view: SeriesView, window: Extent, unit: Unit, columns: int, kept: Kept) -> Grid:
    """Cut a window of a history that is not empty into columns; for steps as `column_of` does."""
    if unit is Unit.STEP:
        return _step_grid(view.step, window, columns)
    x = x_of(view, unit, kept)
    begin = int(np.searchsorted(view.step, window.first))
    end = int(np.searchsorted(view.step, window.last, side="right"))
    shown = x[begin:end]
    if not len(shown) or not shown[-1] > shown[0]:
        return _step_grid(view.step, window, columns)
    edges = np.linspace(shown[0], shown[-1], columns + 1)
    starts = begin + np.searchsorted(shown, edges)
    starts[-1] = end
    is_gap = _gaps(shown, edges) if unit is Unit.TIME else np.zeros(columns, bool)
    return Grid(
        unit=unit,
        window=window,
        first_x=float(shown[0]),
        last_x=float(shown[-1]),
        starts=starts,
        is_gap=is_gap,
    )


def laid_over(grid: Grid, x: npt.NDArray[Any]) -> Grid:
    """The columns of `grid` filled with the records of another history, which stand at `x`."""
    if grid.unit is Unit.STEP:
        return _step_grid(x, grid.window, grid.columns)
    edges = np.linspace(grid.first_x, grid.last_x, grid.columns + 1)
    starts = np.searchsorted(x, edges)
    starts[-1] = np.searchsorted(x, grid.last_x, side="right")
    return replace(grid, starts=starts)


def _step_grid(step: Steps, window: Extent, columns: int) -> Grid:
    cuts = np.arange(columns + 1, dtype=np.int64) * window.span
    edges = window.first + (cuts + columns - 1) // columns
    return Grid(
        unit=Unit.STEP,
        window=window,
        first_x=window.first,
        last_x=window.last,
        starts=np.searchsorted(step, edges),
        is_gap=np.zeros(columns, bool),
    )


def x_of(view: SeriesView, unit: Unit, kept: Kept) -> npt.NDArray[Any]:
    """Where each record of a history stands on an axis of this unit, ascending; shape (n,)."""
    if unit is Unit.STEP:
        return view.step
    if unit is Unit.TOKENS:
        return kept.lasting(unit, Grown).of(view.tokens, unit, _tokens)
    return kept.lasting(unit, Grown).of(view.t, unit, _times)


def _tokens(tokens: Figures, before: float | None) -> tuple[Values, float]:
    """Tokens trained on up to and with each step, where that is told; shape (n,)."""
    total = (before or 0.0) + np.cumsum(np.nan_to_num(tokens), dtype=np.float64)
    return total, float(total[-1]) if len(total) else before or 0.0


def _times(t: Values, before: float | None) -> tuple[Values, float | None]:
    """Wall clock of each step, never going back; a record without one has that before."""
    known = np.isfinite(t)
    if before is None and not known.any():
        return np.zeros(len(t)), None
    filled = np.where(known, t, -np.inf)
    if len(t):
        filled[0] = max(filled[0], t[known][0] if before is None else before)
    times = np.maximum.accumulate(filled)
    return times, float(times[-1]) if len(times) else before


def _gaps(x: Values, edges: Values) -> npt.NDArray[Any]:
    """Columns that lie in a pause of the training; shape (columns,)."""
    is_gap = np.zeros(len(edges) - 1, bool)
    between = np.diff(x)
    usual = median(between[:: max(1, len(between) // 10_000)])
    for pause in np.flatnonzero(between > max(_GAP_SECONDS, _GAP_FACTOR * usual)):
        is_gap |= (edges[:-1] > x[pause]) & (edges[1:] < x[pause + 1])
    return is_gap
