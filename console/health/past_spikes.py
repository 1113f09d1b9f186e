"""Losses of the past that shot up and came back, a block of records at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from console.chart.quantiles import median, medians
from console.health.evidence import Integers, Values, codes_in

BLOCK = 512
"""Records that are looked at together."""
BEFORE = 2048
"""Records before them that tell, with them, what is usual."""
LONGEST = 4096
"""Records within which a loss comes back; what takes longer is no spike."""
_EFFECT, _BACK = 0.3, 0.15
"""Nats above what its arm usually is at, in a spike and behind it."""
_SPREADS = 4.5
_WINDOW, _HIGH = 6, 5
"""In a spike so many records of a window lie high: one arm, or one row, is none."""
_FEWEST = 8
"""Records of an arm that tell what is usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSpike:
    """By index of the records."""

    begin: int
    end: int
    """The first one that is back."""
    usual: float
    top: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Records in a row without a pivot among them, arrays of shape (n,)."""

    loss: Values
    ema: Values
    arm: Integers


def spike_in(losses: Losses, start: int) -> PastSpike | int | None:
    """The first spike that begins in the block at `start`; the index of its beginning where it has
    not come back yet, `None` where there is none.
    """
    first, stop = max(0, start - BEFORE), min(start + BLOCK, len(losses.loss))
    is_high = _is_high(losses, first, stop)[start - first :]
    if len(is_high) < _WINDOW:
        return None
    counts = sliding_window_view(is_high, _WINDOW).sum(axis=1)
    found = np.flatnonzero((counts >= _HIGH) & is_high[: len(counts)])
    return _followed(losses, start + int(found[0])) if len(found) else None


def _is_high(losses: Losses, first: int, stop: int) -> npt.NDArray[np.bool_]:
    """Which of the records [first, stop) lie far above the EMA before them, for their arm."""
    part = slice(first, stop)
    before = np.concatenate(
        [losses.ema[max(first - 1, 0) : max(first - 1, 0) + 1], losses.ema[part][:-1]]
    )
    above, arm = losses.loss[part] - before, losses.arm[part]
    is_high = np.zeros(stop - first, np.bool_)
    for code in codes_in(arm):
        is_of_arm = (arm == code) & np.isfinite(above)
        told = above[is_of_arm]
        if len(told) >= _FEWEST:
            rises = told - median(told)
            spread = 1.4826 * median(np.abs(rises))
            is_high[is_of_arm] = rises >= max(_EFFECT, _SPREADS * spread)
    return is_high


def _followed(losses: Losses, begin: int) -> PastSpike | int | None:
    stop = min(begin + LONGEST, len(losses.loss))
    above = _above_before(losses, begin, stop)
    levels = medians(sliding_window_view(above, _WINDOW))
    back = np.flatnonzero(levels[_WINDOW:] <= _BACK)
    if not len(back):
        return None if stop - begin == LONGEST else begin
    end = begin + _WINDOW + int(back[0])
    top = begin + int(np.nanargmax(above[: end - begin]))
    usual = losses.loss[top] - above[top - begin]
    return PastSpike(begin=begin, end=end, usual=float(usual), top=float(losses.loss[top]))


def _above_before(losses: Losses, begin: int, stop: int) -> Values:
    """Of the records [begin, stop), how far above their arms just before; an arm of which there
    were too few, above all.
    """
    past = slice(max(0, begin - BLOCK), begin)
    is_told = np.isfinite(losses.loss[past])
    loss_before, arm_before = losses.loss[past][is_told], losses.arm[past][is_told]
    loss, arm = losses.loss[begin:stop], losses.arm[begin:stop]
    above = loss - median(loss_before)
    for code in codes_in(arm):
        known = loss_before[arm_before == code]
        if len(known) >= _FEWEST:
            is_of_arm = arm == code
            above[is_of_arm] = loss[is_of_arm] - median(known)
    return np.nan_to_num(above, nan=0.0)
