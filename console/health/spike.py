"""The newest records against what their own arms were just before."""

from __future__ import annotations

import numpy as np

from console.chart.quantiles import median
from console.health.evidence import Evidence, Integers, Values, codes_in
from console.health.record_curves import measured
from console.health.verdict import Reason

LOOKED_AT = 2048
"""Records at the end that a spike is looked for in."""
_LEVELS = {6: 4.5, 12: 4.0, 24: 3.5, 48: 3.0, 96: 2.5}
"""Newest records to how far their median has to lie above, in the spread of single ones."""
_EFFECT = 0.3
"""Nats."""
_FEWEST = 8
"""Records of an arm that tell its level."""


def spike(evidence: Evidence) -> Reason | None:
    """Losses that have shot up and not come back."""
    start = max(0, len(evidence) - LOOKED_AT)
    last_pivot = max((p for p in evidence.pivots if p <= evidence.step[-1]), default=None)
    if last_pivot is not None:
        start = max(start, int(np.searchsorted(evidence.step, last_pivot)))
    loss = measured(evidence.loss[start:])
    arm = evidence.arm[start:] if len(evidence.arm) else np.zeros(len(loss), np.int16)
    for newest, sigmas in _LEVELS.items():
        if len(loss) < 6 * newest:
            return None
        rises, spreads = _against_own_arms(loss, arm, len(loss) - 2 * newest)
        told = rises[-newest:][np.isfinite(rises[-newest:])]
        if len(told) < max(4, newest // 2) or median(told) < _EFFECT:
            continue
        heights = rises / spreads
        height = median(heights[-newest:][np.isfinite(rises[-newest:])])
        if height < sigmas or median(told[len(told) // 2 :]) < _EFFECT:
            continue
        return _told(evidence, start, loss, heights, newest, height)
    return None


def _against_own_arms(loss: Values, arm: Integers, n_before: int) -> tuple[Values, Values]:
    """Each record above its arm's level, and the arm's spread; NaN where it has too few."""
    rises, spreads = np.full(len(loss), np.nan), np.ones(len(loss))
    before, arm_before = loss[:n_before], arm[:n_before]
    for code in codes_in(arm[n_before:]):
        past = before[(arm_before == code) & np.isfinite(before)]
        if len(past) >= _FEWEST:
            is_of_arm, level = arm == code, median(past)
            rises[is_of_arm] = loss[is_of_arm] - level
            spreads[is_of_arm] = max(1.4826 * median(np.abs(past - level)), 1e-6)
    return rises, spreads


def _told(
    evidence: Evidence, start: int, loss: Values, heights: Values, newest: int, height: float
) -> Reason:
    begin = len(loss) - 4 * newest
    above = np.nan_to_num(np.clip(heights[begin:], -height, height)) - height / 2
    since = begin + int(np.argmax(np.cumsum(above[::-1])[::-1]))
    before, after = loss[begin - newest : since], loss[since:]
    past = median(before[np.isfinite(before)])
    now = median(after[np.isfinite(after)])
    return Reason(
        kind="spike",
        series="loss",
        since_step=int(evidence.step[start + since]),
        past=past,
        now=now,
        text=f"loss shot up {past:.2f} → {now:.2f}",
        sigmas=height * newest**0.5,
    )
