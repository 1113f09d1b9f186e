"""A chart's axes: linear or logarithmic, where the ticks fall and how they read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from console.chart.series import Values

LARGEST = 1e300
"""Values beyond this, either way, have no place on an axis: their differences overflow."""
_SMALLEST = 1e-300  # closer values have no ticks between them


class Scale(StrEnum):
    """How values become heights."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis from `low` to `high`, low < high; both above 0 if it is logarithmic."""

    scale: Scale
    low: float
    high: float

    def height(self, values: Values) -> Values:
        """Where values lie between `low` (0.0) and `high` (1.0); same shape, NaN stays NaN."""
        low, high = (float(end) for end in self._scaled(np.array([self.low, self.high])))
        return (self._scaled(values) - low) / (high - low)

    def _scaled(self, values: Values) -> Values:
        if self.scale is Scale.LINEAR:
            return values
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled: Values = np.log10(values)
        return scaled

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most `most` round values in the axis, ascending, each with its text."""
        if self.scale is Scale.LOG:
            ticks = _log_ticks(self.low, self.high, most)
            if len(ticks) >= 3 or self.low < self.high / 10:
                return [(tick, f"{tick:g}") for tick in ticks]
        return _linear_ticks(self.low, self.high, most)


def fit_axis(scale: Scale, low: float, high: float) -> Axis:
    """The axis that shows `low`..`high`, widened where they are (almost) the same.

    Both are within `LARGEST`. A logarithmic axis becomes linear where `low` is not above 0.
    """
    size = max(abs(low), abs(high))
    if high - low <= max(1e-9 * size, _SMALLEST):
        margin = 0.05 * size if size > _SMALLEST else 1.0
        low, high = low - margin, high + margin
    return Axis(scale=scale if low > 0 else Scale.LINEAR, low=low, high=high)


def round_step(at_least: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below `at_least` (> 0)."""
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(
        (factor * power for factor in (1, 2, 5) if factor * power >= at_least * (1 - 1e-9)),
        10 * power,
    )


def _linear_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    step = round_step((high - low) / max(most, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [number * step for number in range(first, last + 1)][:most]
    if max(abs(low), abs(high)) >= 1e6 or step < 1e-6:
        return [(tick, f"{tick:.3g}") for tick in ticks]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(tick, f"{tick:.{decimals}f}") for tick in ticks]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """1-2-5 in each decade if that fits, else whole decades, else each second, third … one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors, stride in [((1, 2, 5), 1), *(((1,), s) for s in range(1, len(decades) + 1))]:
        ticks = [
            factor * 10.0**decade
            for decade in decades
            if decade % stride == 0
            for factor in factors
            if low <= factor * 10.0**decade <= high
        ]
        if len(ticks) <= most:
            return ticks
    return []


def step_ticks(first: int, last: int, columns: int) -> list[tuple[int, str]]:
    """Round steps in `first`..`last`, as many as have room in `columns` cells, with their texts."""
    step = max(1, int(round_step((last - first + 1) / max(columns, 1))))
    while True:
        ticks = range(-(-first // step) * step, last + 1, step)
        widest = max((len(step_text(tick, step)) for tick in (*ticks[:1], *ticks[-1:])), default=0)
        if len(ticks) * (widest + 4) <= columns or len(ticks) <= 1:
            return [(tick, step_text(tick, step)) for tick in ticks]
        step = max(step + 1, int(round_step(step * 1.5)))


def step_text(step: int, unit: int = 1) -> str:
    """A step that is a multiple of `unit`, as short as that allows: 112k, 112.7k, 112,650."""
    if step >= 1000 and unit % 1000 == 0:
        return f"{step // 1000:,}k"
    if step >= 10_000 and unit % 100 == 0:
        return f"{step / 1000:,.1f}k"
    return f"{step:,}"
