"""Curves as dots, and dots as characters: the part of a chart between its axes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from console.chart.axis import Axis
from console.chart.glyphs import Dots
from console.chart.series import Buckets, Values

Bits = npt.NDArray[np.bool_]
Characters = npt.NDArray[np.str_]


def rasterise(buckets: Buckets, axis: Axis, rows: int) -> Bits:
    """The curve as dots, shape (rows, columns), row 0 on top.

    Each column is a bar from its least to its greatest value; columns without a record are
    drawn on the straight line between their neighbours; a column of NaN alone leaves a gap.
    """
    low, high = axis.height(buckets.low), axis.height(buckets.high)
    low, high = _bridged(low, high, buckets.is_empty)
    is_drawn = np.isfinite(low)
    top, bottom = _row(high, rows), _row(low, rows)
    _join(top, bottom, is_drawn)
    row = np.arange(rows)[:, np.newaxis]
    bits: Bits = (row >= top) & (row <= bottom) & is_drawn
    return bits


def encode(bits: Bits, dots: Dots) -> Characters:
    """Pack dots, shape (h * dots.rows, w * dots.columns), into characters, shape (h, w)."""
    height, width = bits.shape[0] // dots.rows, bits.shape[1] // dots.columns
    cells = bits.reshape(height, dots.rows, width, dots.columns)
    weights = (1 << np.arange(dots.rows * dots.columns)).reshape(dots.rows, dots.columns)
    table = np.array(list(dots.table))
    characters: Characters = table[np.einsum("hrwc,rc->hw", cells, weights)]
    return characters


def _row(height: Values, rows: int) -> npt.NDArray[np.int64]:
    return np.rint((1 - np.nan_to_num(height)) * (rows - 1)).astype(np.int64)


def _bridged(low: Values, high: Values, is_empty: Bits) -> tuple[Values, Values]:
    """Put columns without a record on the line between the nearest columns that have one."""
    column = np.arange(len(low))
    known = column[~is_empty]
    line = np.interp(column, known, ((low + high) / 2)[known])
    return np.where(is_empty, line, low), np.where(is_empty, line, high)


def _join(top: npt.NDArray[np.int64], bottom: npt.NDArray[np.int64], is_drawn: Bits) -> None:
    """Lengthen bars in place so that each touches the one before it, but not across a gap."""
    pair = is_drawn[1:] & is_drawn[:-1]
    reach_up = np.where(pair, bottom[:-1] + 1, top[1:])
    reach_down = np.where(pair, top[:-1] - 1, bottom[1:])
    np.minimum(top[1:], reach_up, out=top[1:])
    np.maximum(bottom[1:], reach_down, out=bottom[1:])
