"""A series of any length as at most 256 bins, each the median (or mean) of as many values.

Bins have a power of two of values, so that a series which grows keeps the bins it has until
there are too many: then all are made anew, which is paid for by the values since the last time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from console.chart.quantiles import medians
from console.health.evidence import Floats, Integers, Values

MOST_BINS = 256
Reduction = Literal["median", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Whole bins of `width` values each, b of them; what is left for the next one is the tail."""

    first: Values
    """(b,) the step of each bin's first value."""
    middle: Values
    """(b,) the step in its middle."""
    value: Values
    """(b,)"""
    width: int
    reduction: Reduction
    tail_step: Values
    tail_value: Values

    def __len__(self) -> int:
        return len(self.value)

    @property
    def n_values(self) -> int:
        return len(self) * self.width + len(self.tail_value)

    def has_room_for(self, n_values: int) -> bool:
        """Whether so many more don't make too many bins."""
        return self.n_values + n_values <= MOST_BINS * self.width


def curve_of(step: Floats | Integers, value: Floats, reduction: Reduction = "median") -> Curve:
    """The finite ones of n values at ascending steps, in O(n)."""
    step, value = _known(step, value)
    width = 1
    while len(value) > MOST_BINS * width:
        width *= 2
    return _binned(step, value, width, reduction)


def grown(curve: Curve, step: Floats | Integers, value: Floats) -> Curve:
    """With values of later steps, in O(their number), if it `has_room_for` them."""
    step, value = _known(step, value)
    if not len(value):
        return curve
    steps = np.concatenate([curve.tail_step, step])
    values = np.concatenate([curve.tail_value, value])
    new = _binned(steps, values, curve.width, curve.reduction)
    return Curve(
        first=np.concatenate([curve.first, new.first]),
        middle=np.concatenate([curve.middle, new.middle]),
        value=np.concatenate([curve.value, new.value]),
        width=curve.width,
        reduction=curve.reduction,
        tail_step=new.tail_step,
        tail_value=new.tail_value,
    )


def _known(step: Floats | Integers, value: Floats) -> tuple[Values, Values]:
    known = np.isfinite(value)
    if not known.all():
        step, value = step[known], value[known]
    return np.asarray(step, np.float64), np.asarray(value, np.float64)


def _binned(step: Values, value: Values, width: int, reduction: Reduction) -> Curve:
    n_bins = len(value) // width
    end = n_bins * width
    steps, values = step[:end].reshape(n_bins, width), value[:end].reshape(n_bins, width)
    reduced = medians(values.astype(np.float32)) if reduction == "median" else values.mean(axis=1)
    return Curve(
        first=steps[:, 0].copy(),
        middle=(steps[:, 0] + steps[:, -1]) / 2,
        value=reduced,
        width=width,
        reduction=reduction,
        tail_step=step[end:].copy(),
        tail_value=value[end:].copy(),
    )
