"""Curves by arm: means, and shares of the records, from sums over blocks that are made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from console.chart.cell_rows import CURVES
from console.chart.curve import Curve, Source, letter_of
from console.chart.grid import Buckets
from console.chart.series import Codes, SeriesView, Steps, Values
from console.chart.track import Track

BLOCK = 128
"""Records that are summed up once for all windows."""
Indices = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.floating] | Steps


class Sums(NamedTuple):
    """Of known values, and how many there are; both of shape (columns or blocks, arms + 1), what
    is of no known arm in front.
    """

    total: Values
    number: Values


def means_by_arm(track: Track, values: Numbers, source: Source) -> Iterator[Curve]:
    """The mean of each arm's records in a column."""
    total, count = source.kept_of(track, lambda: _column_sums(track, values, source))
    with np.errstate(invalid="ignore"):
        yield from _arms(total / count, count == 0, source)


def shares_by_arm(source: Source) -> Iterator[Curve]:
    """Each arm's part of the records in a column, 0 to 1."""
    # Each record has a step: all are counted.
    count = source.kept_of(
        Track.SHARE, lambda: _column_sums(Track.SHARE, source.view.step, source).number
    )
    total = count.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        yield from _arms(count / total, np.broadcast_to(total == 0, count.shape), source)


def _column_sums(track: Track, values: Numbers, source: Source) -> Sums:
    """From whole blocks where a column holds some, and from the records at its two ends."""
    view, starts = source.view, source.grid.starts
    begin, end = starts[:-1], starts[1:]
    first, last = -(-begin // BLOCK), end // BLOCK
    has_blocks = last > first
    n_rows, n_arms = len(begin), len(view.arms)
    column = np.arange(n_rows)
    # Without a block in it, the first end is the whole column and the second is empty.
    middle = np.where(has_blocks, first * BLOCK, end)
    behind = np.where(has_blocks, last * BLOCK, end)
    at = np.concatenate([_ranges(begin, middle), _ranges(behind, end)])
    row = np.concatenate([np.repeat(column, middle - begin), np.repeat(column, end - behind)])
    ends = _sums(row, view.arm[at], values[at], n_rows, n_arms)
    if not has_blocks.any():
        return ends
    blocks = source.kept.lasting((BlockSums, track), BlockSums).of(view, values)
    lengths = np.where(has_blocks, last - first, 0)
    which = _ranges(first, first + lengths)
    key = np.repeat(column, lengths)[:, np.newaxis] * (n_arms + 1) + np.arange(n_arms + 1)
    inside = (
        np.bincount(key.ravel(), part[which].ravel(), n_rows * (n_arms + 1)).reshape(n_rows, -1)
        for part in blocks
    )
    return Sums(*(one + other for one, other in zip(ends, inside, strict=True)))


def _ranges(begin: Indices, end: Indices) -> Indices:
    """All indices from each beginning to its end, one range after the other."""
    lengths = end - begin
    before = np.cumsum(lengths) - lengths
    return np.repeat(begin - before, lengths) + np.arange(int(lengths.sum()))


def _sums(row: Indices, arm: Codes, values: Numbers, n_rows: int, n_arms: int) -> Sums:
    known, key = np.isfinite(values), row * (n_arms + 1) + arm + 1
    if not known.all():
        key, values = key[known], values[known]
    size = n_rows * (n_arms + 1)
    total, count = np.bincount(key, values, size), np.bincount(key, minlength=size)
    return Sums(
        total.reshape(n_rows, -1).astype(np.float64), count.reshape(n_rows, -1).astype(np.float64)
    )


class BlockSums:
    """The sums of whole blocks of a history; one that only grew is gone on with."""

    def __init__(self) -> None:
        self._bases: tuple[object, object] = (None, None)
        self._n_arms = -1
        self._sums = Sums(np.empty((0, 0)), np.empty((0, 0)))

    def of(self, view: SeriesView, values: Numbers) -> Sums:
        """Of all whole blocks; a series changes nothing in the memory that it appends to."""
        n_arms, n_blocks = len(view.arms), len(values) // BLOCK
        bases = (view.arm.base, values.base)
        is_same = all(
            now is not None and now is before
            for now, before in zip(bases, self._bases, strict=True)
        )
        if not is_same or n_arms != self._n_arms or n_blocks < len(self._sums.total):
            empty = np.empty((0, n_arms + 1))
            self._bases, self._n_arms, self._sums = bases, n_arms, Sums(empty, empty)
        done = len(self._sums.total)
        if n_blocks > done:
            part = slice(done * BLOCK, n_blocks * BLOCK)
            row = np.arange(part.stop - part.start) // BLOCK
            fresh = _sums(row, view.arm[part], values[part], n_blocks - done, n_arms)
            self._sums = Sums(
                *(np.concatenate(pair) for pair in zip(self._sums, fresh, strict=True))
            )
        return self._sums


def _arms(values: Values, is_empty: npt.NDArray[np.bool_], source: Source) -> Iterator[Curve]:
    """A curve for each arm from arrays of shape (columns, arms + 1)."""
    at = source.grid.column_of_record(source.at)
    for number, name in enumerate(source.view.arms):
        mean, empty = values[:, number + 1], is_empty[:, number + 1]
        yield Curve(
            name=name,
            buckets=Buckets(low=mean, high=mean, is_empty=empty & ~source.grid.is_gap),
            ink=CURVES[number % len(CURVES)],
            letter=letter_of(number),
            value=float(mean[at]),
        )
