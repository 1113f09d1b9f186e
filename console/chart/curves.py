"""Curves as dots, and dots as characters: the part of a chart between its axes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from console.chart.axis import Axis
from console.chart.glyphs import Dots
from console.chart.grid import Buckets
from console.chart.series import Values

Bits = npt.NDArray[np.bool_]
Characters = npt.NDArray[np.str_]


def rasterise(buckets: Buckets, axis: Axis, rows: int) -> Bits:
    """The curve as dots, shape (rows, columns), row 0 on top.

    Each column is a bar from its least to its greatest value; columns without a record are
    drawn on the straight line between their neighbours; a column of NaN alone leaves a gap.
    A bar ends at the axis' ends, and one that lies beyond them isn't drawn.
    """
    low, high = axis.height(buckets.low), axis.height(buckets.high)
    is_beyond = (low > 1) | (high < 0)
    low[is_beyond] = high[is_beyond] = np.nan
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
    return np.rint((1 - np.clip(np.nan_to_num(height), 0, 1)) * (rows - 1)).astype(np.int64)


def _bridged(low: Values, high: Values, is_empty: Bits) -> tuple[Values, Values]:
    """Put columns without a record on the line between the nearest columns that have one.

    Beyond the first and the last of these it goes on level, as far as they are usually apart.
    """
    column = np.arange(len(low))
    known = column[~is_empty]
    if not len(known):
        return low, high
    apart = len(low) if len(known) == 1 else -(-(known[-1] - known[0]) // (len(known) - 1))
    is_near = (column > known[0] - apart) & (column < known[-1] + apart)
    line = np.interp(column, known, ((low + high) / 2)[known])
    line[~is_near] = np.nan
    return np.where(is_empty, line, low), np.where(is_empty, line, high)


def _join(top: npt.NDArray[np.int64], bottom: npt.NDArray[np.int64], is_drawn: Bits) -> None:
    """Lengthen bars in place so that each touches the one before it, but not across a gap."""
    pair = is_drawn[1:] & is_drawn[:-1]
    reach_up = np.where(pair, bottom[:-1] + 1, top[1:])
    reach_down = np.where(pair, top[:-1] - 1, bottom[1:])
    np.minimum(top[1:], reach_up, out=top[1:])
    np.maximum(bottom[1:], reach_down, out=bottom[1:])
