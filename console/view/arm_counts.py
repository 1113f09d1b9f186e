"""What each arm was given up to any record of a history; pure.

Sums are kept by blocks of records: what is new costs what is new, and any record's sums those of
a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from console.chart.series import Figures, Series, SeriesView, Values

BLOCK = 4096
_PULLS, _TOKENS, _ROWS = range(3)
_FORGOTTEN = 20
"""An average's memory so many times: what lies before it moves it by a billionth."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Given:
    """Arrays of shape (arms,), in the order of the history's arms."""

    pulls: Values
    tokens: Values
    rows: Values
    """Of the context; 0 where that is unknown."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class ArmCounts:
    """Sums over the first records of a history; made by `counted`."""

    series: SeriesView
    context: int | None
    """Tokens of a row."""
    table: Values
    """(b + 1, 3, arms): pulls, tokens and rows before each block, and after the last."""

    def given(self, n_records: int) -> Given:
        """By the first `n_records` records."""
        block, rest = self._split(n_records)
        sums = self.table[block] + _sums(self.series, rest, self.context, 1)[0]
        return Given(pulls=sums[_PULLS], tokens=sums[_TOKENS], rows=sums[_ROWS])

    def shares(self, n_records: int, parts: int) -> Values:
        """Of each arm in each part of the first records: (parts, arms), 0 to 1, NaN of none."""
        edges = np.linspace(0, n_records, parts + 1).astype(np.int64)
        pulls = np.diff([self._pulls_at(edge) for edge in edges.tolist()], axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(pulls / np.diff(edges)[:, np.newaxis], np.float64)

    def average(
        self, arm: int, values: Figures | Values, records: slice, memory: int
    ) -> float | None:
        """An arm's values as each pull moves their average by one part in `memory`.

        `None` where none of the records tells one.
        """
        told = self._newest(arm, values, records, _FORGOTTEN * memory)
        told = told[np.isfinite(told)]
        if not len(told):
            return None
        weight = (1 - 1 / memory) ** np.arange(len(told) - 1, -1, -1.0)
        weight[1:] /= memory
        return float(told @ weight)

    def _newest(
        self, arm: int, values: Figures | Values, records: slice, most: int
    ) -> npt.NDArray[np.floating]:
        sums = self.table[:, _PULLS, arm]
        block, rest = self._split(records.stop)
        pulls = sums[block] + np.count_nonzero(self.series.arm[rest] == arm)
        block = int(np.searchsorted(sums, pulls - most, side="right")) - 1
        first = max(records.start, BLOCK * max(block, 0))
        drawn = np.flatnonzero(self.series.arm[first : records.stop] == arm)[-most:]
        newest: npt.NDArray[np.floating] = values[first : records.stop][drawn]
        return newest

    def _pulls_at(self, n_records: int) -> Values:
        block, rest = self._split(n_records)
        pulls: Values = self.table[block, _PULLS] + _pulls(self.series, rest, 1)[0]
        return pulls

    def _split(self, n_records: int) -> tuple[int, slice]:
        """So many records as whole blocks, and the rest of them."""
        block = min(n_records // BLOCK, len(self.table) - 1)
        return block, slice(block * BLOCK, n_records)


NOTHING = ArmCounts(series=Series().view(), context=None, table=np.zeros((1, 3, 0)))


def counted(series: SeriesView, context: int | None, before: ArmCounts = NOTHING) -> ArmCounts:
    """Go on from what was counted `before`, if the history goes on from there; else anew."""
    known = before.table
    n_known = BLOCK * (len(known) - 1)
    if before.context != context or not _goes_on(before.series, series, n_known):
        known, n_known = NOTHING.table, 0
    table = np.pad(known, ((0, 0), (0, 0), (0, len(series.arms) - known.shape[2])))
    n_whole = BLOCK * (len(series) // BLOCK)
    if n_whole > n_known:
        new = slice(n_known, n_whole)
        sums = _sums(series, new, context, (n_whole - n_known) // BLOCK)
        table = np.concatenate([table, table[-1] + np.cumsum(sums, axis=0)])
    return ArmCounts(series=series, context=context, table=table)


def _goes_on(before: SeriesView, series: SeriesView, n_records: int) -> bool:
    """Whether the first records tell the same."""
    if len(series) < n_records or series.arms[: len(before.arms)] != before.arms:
        return False
    columns = ((getattr(before, name), getattr(series, name)) for name in ("step", "arm", "tokens"))
    return all(_is_same(one[:n_records], other[:n_records]) for one, other in columns)


def _is_same(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    if one.ctypes.data == other.ctypes.data:  # views of one array that grows: they never change
        return True
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _sums(series: SeriesView, records: slice, context: int | None, n_blocks: int) -> Values:
    """(n_blocks, 3, arms) of records that are so many blocks of one length."""
    pulls, tokens = _pulls(series, records, n_blocks), series.tokens[records]
    if len(tokens) and (tokens == tokens[0]).all():  # as is usual, and takes a third of the time
        each = max(float(tokens[0]), 0.0)
        return np.stack([pulls, each * pulls, (each // context if context else 0) * pulls], axis=1)
    told = np.maximum(np.nan_to_num(tokens.astype(np.float64)), 0.0)
    rows = told // context if context else np.zeros_like(told)
    others = [_pulls(series, records, n_blocks, weights) for weights in (told, rows)]
    return np.stack([pulls, *others], axis=1)


def _pulls(
    series: SeriesView, records: slice, n_blocks: int, weights: Values | None = None
) -> Values:
    """(n_blocks, arms) records, each counted as its weight."""
    code, width = series.arm[records] + 1, len(series.arms) + 1  # untold arms come first
    code += np.repeat(np.arange(n_blocks, dtype=np.int32) * width, len(code) // n_blocks)
    sums = np.bincount(code, weights, n_blocks * width).reshape(n_blocks, width)
    return sums[:, 1:].astype(np.float64)
