"""Smoothing of a whole history at once, as strong as the operator wants it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from console.chart.axis import LARGEST
from console.chart.series import Values

STRENGTHS: tuple[float | None, ...] = (None, 0.0, 0.6, 0.9, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9998)
"""To choose from; `None` is the EMA that the record brings itself, 0 smoothes nothing."""
USUAL = 0.98
"""Of what the record brings no EMA of, as long as none is chosen."""
_BLOCK = 64


def smoothing_name(strength: float | None) -> str:
    """The method in words: `EMA` (the record's own), `EMA 0.98`, `not smoothed`."""
    if strength is None:
        return "EMA"
    return f"EMA {strength:g}" if strength else "not smoothed"


def smoothing_name_beside(strength: float | None) -> str:
    """The same of what the record brings no EMA of."""
    return smoothing_name(USUAL if strength is None else strength)


def smooth(values: Values, strength: float) -> Values:
    """The exponential moving average, shape (n,), that forgets 1 - strength a step.

    It is not drawn to 0 at its beginning; NaN, and what no axis can hold, is passed over, and the
    average is NaN as long as nothing is known.
    """
    averages, _ = smooth_on(strength, values, None)
    return averages


def smooth_on(
    strength: float, values: npt.NDArray[np.floating], before: tuple[float, float] | None
) -> tuple[Values, tuple[float, float]]:
    """The same for values that follow on others, and what those after them need: the decayed sum
    of values and how many it is of.
    """
    total_before, weight_before = before or (0.0, 0.0)
    if not len(values):
        return values.astype(np.float64), (total_before, weight_before)
    values = values.astype(np.float64, copy=False)
    known = np.abs(values) < LARGEST  # sums of larger ones overflow
    fading = strength ** np.arange(1.0, len(values) + 1) if before else 0.0
    total = _decayed_sums(np.where(known, values, 0.0), strength) + fading * total_before
    weight = _decayed_sums(known.astype(np.float64), strength) + fading * weight_before
    with np.errstate(invalid="ignore"):
        averages: Values = np.where(weight > 0, total / weight, np.nan)
    return averages, (float(total[-1]), float(weight[-1]))


def _decayed_sums(values: Values, decay: float) -> Values:
    """y[i] = values[i] + decay * y[i - 1], by blocks: no loop over the records. O(n)."""
    size = len(values)
    if size <= 1:
        return values.copy()
    blocks = np.zeros((-(-size // _BLOCK), _BLOCK))
    blocks.reshape(-1)[:size] = values
    power = np.arange(_BLOCK)
    distance = power[np.newaxis, :] - power[:, np.newaxis]
    kernel = np.where(distance >= 0, decay ** np.maximum(distance, 0).astype(float), 0.0)
    inside = blocks @ kernel
    carried = _decayed_sums(inside[:, -1], decay**_BLOCK)
    inside[1:] += carried[:-1, np.newaxis] * decay ** (power + 1.0)
    return inside.reshape(-1)[:size]
