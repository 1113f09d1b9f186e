"""At which bin a series began to go wrong: a falling or flat line, with a ramp on top."""

from __future__ import annotations

import numpy as np

from console.chart.quantiles import median
from console.health.evidence import Values
from console.health.levels import Rise, running_median, sigma_of_windows, without_lone_bins

_RAMPS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Lengths that a rise may have, as shares of what follows its beginning."""
_CLEAR = 10.0
"""Sigmas of a rise that is looked at more closely, without what follows: a rise isn't straight."""
_LEAST_FIT = 32
"""Bins before the best level that the line is laid through, at least."""


def onset(middle: Values, values: Values, found: Rise, *, may_fall: bool = True) -> int:
    """The bin at which the rise begins: the least squared error over all beginnings and lengths.

    The line falls in the logarithm of the step (`may_fall`) or is flat.
    """
    y = without_lone_bins(values)
    x = np.log1p(np.maximum(middle - middle[0], 0.0))
    best, end = found.best_bin, len(y)
    reach = found.past + 0.25 * found.amount + 2 * sigma_of_windows(values, 1) / 3
    worse = np.flatnonzero(running_median(y, 9)[:best] > reach)
    learned = int(worse[-1]) + 1 if len(worse) else 0
    start, begin = max(learned, best - max(_LEAST_FIT, end - best)), best
    error = sigma_of_windows(values, 1)
    while end - start >= 6:
        begin = start + _begin(x[start:end], y[start:end], may_fall=may_fall)
        nearer = begin + int(0.6 * (end - begin))
        n_level = max(2, (nearer - begin) // 4)
        rise = median(y[nearer - n_level : nearer]) - median(y[max(0, begin - n_level) : begin])
        if nearer - begin < 8 or rise < _CLEAR * error * (2 / n_level) ** 0.5:
            break
        end, start = nearer, max(start, begin - max(16, 2 * (nearer - begin)))
    return begin


def _begin(x: Values, y: Values, *, may_fall: bool) -> int:
    flat, line = np.ones((1, len(y))), np.stack([np.ones(len(y)), x])
    explained = _explained(y, x) if may_fall else 0.0
    found, most = 0, -np.inf
    for length in _RAMPS:  # all at once would take some 20 MB
        begins, ramps = _ramps(len(y), length)
        gains, _ = _gains(y, ramps, flat)
        if may_fall:
            line_gains, slopes = _gains(y, ramps, line)
            gains = np.where(slopes <= 0, np.maximum(line_gains + explained, gains), gains)
        at = int(np.argmax(gains))
        if gains[at] > most:
            found, most = int(begins[at]), float(gains[at])
    return found


def _ramps(n_bins: int, share: float) -> tuple[Values, Values]:
    """Beginnings (r,) and shapes (r, n_bins) of rises as long as this share of what follows."""
    at = np.arange(n_bins, dtype=np.float64)
    begin = np.arange(2, n_bins - 1, dtype=np.float64)
    length = share * (n_bins - begin)
    shape = (at[None, :] - begin[:, None] + 1) / np.maximum(length[:, None], 1.0)
    return begin, np.clip(shape, 0.0, 1.0)


def _gains(y: Values, ramps: Values, base: Values) -> tuple[Values, Values]:
    """By how much each ramp (r, b) lessens the squared error of y (b,) beside the base (k, b),
    0 where it would have to fall; and the slope of the base's last row (r,) then.
    """
    basis, mixing = np.linalg.qr(base.T)
    left_y, ramps_in = y - basis @ (basis.T @ y), ramps @ basis
    power = np.einsum("rb,rb->r", ramps, ramps) - (ramps_in * ramps_in).sum(axis=1)
    power = np.maximum(power, 1e-12)  # of what of a ramp lies beside the base
    along = ramps @ left_y
    height = along / power
    slope = ((basis.T @ y)[-1] - height * ramps_in[:, -1]) / (mixing[-1, -1] or 1.0)
    return np.where(along > 0, along * height, 0.0), slope


def _explained(y: Values, x: Values) -> float:
    """By how much a line in x lessens the squared error of a mean."""
    across = x - x.mean()
    power = float(across @ across)
    return float(across @ y) ** 2 / power if power > 0 else 0.0
