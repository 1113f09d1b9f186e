"""Rules over what a step takes and how large its gradient is."""

from __future__ import annotations

import math

import numpy as np

from console.chart.quantiles import median
from console.health.findings import Judged, Rule, risen
from console.health.record_curves import RecordCurves
from console.health.verdict import Reason

_ALL = 0.9
_NOT_ALL = 0.6
"""Shares of clipped steps: clipping nearly all is ill where it was fewer than this."""
_LEARNS = 0.5
"""Nats that the loss has fallen since: a young run's gradients grow while it learns fast."""
_BINS = 5
_SLOWER = Rule(kind="step time", effect=math.log(1.25), sigmas=6.0, may_fall=False)
_CLIPPING = Rule(kind="clipping", effect=_ALL - _NOT_ALL, sigmas=6.0, may_fall=False)


def step_time(curves: RecordCurves) -> Reason | None:
    """Steps take longer: a throttled card, or a neighbour."""
    ms = curves.ms
    series = Judged(
        name="step time",
        first=ms.first,
        middle=ms.middle,
        values=np.log(ms.value),
        shown=ms.value / 1000,
    )
    words = "step time {} → {}".format
    return risen(_SLOWER, series, lambda past, now: words(in_seconds(past), in_seconds(now)))


def clipping(curves: RecordCurves) -> Reason | None:
    """Nearly all steps are clipped where not all were.

    A run that always clips is healthy, and so is one whose loss has fallen by much since.
    """
    shares = curves.clipped
    series = Judged(
        name="clipping",
        first=shares.first,
        middle=shares.middle,
        values=shares.value,
        shown=shares.value,
        least_error=0.5 / shares.width**0.5,
    )
    found = risen(_CLIPPING, series, lambda past, now: f"clipped steps {past:.0%} → {now:.0%}")
    if found is None or found.now <= _ALL or found.past >= _NOT_ALL:
        return None
    return None if _fallen_since(curves, found.since_step) > _LEARNS else found


def _fallen_since(curves: RecordCurves, step: int) -> float:
    """Nats, by medians of a few bins."""
    loss = curves.loss
    if len(loss) <= _BINS:
        return 0.0
    at = min(int(np.searchsorted(loss.first, step)), len(loss) - _BINS)
    return median(loss.value[at : at + _BINS]) - median(loss.value[-_BINS:])


def in_seconds(seconds: float) -> str:
    """`0.25 s`, `14.2 s`."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
