"""Whether a series of bins now lies above the best that it was, and by how many of its errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from console.chart.quantiles import median, medians, quantiles
from console.health.evidence import Values

_WINDOWS = (4, 8, 16)
"""Bins in what counts as now, shortest first."""
_MAD_TO_SIGMA = 1.4826
_SIGMAS_OF_A_JUMP = 3.0
_BINS_OF_A_JUMP, _LEAST_BINS_OF_A_JUMP = 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rise:
    """A level that is worse than the best one of before; larger is worse."""

    best_bin: int
    """First bin of the window with the best level."""
    past: float
    now: float
    sigmas: float
    """The rise in standard errors."""

    @property
    def amount(self) -> float:
        return self.now - self.past


def sigma_of_windows(values: Values, window: int) -> float:
    """Standard error of the median of so many bins in a row, from second differences.

    A trend doesn't count. Taken from windows of that very width, so that noise which is not
    independent from bin to bin counts as what it is; 0 for fewer than three windows.
    """
    n_windows = len(values) // window
    if n_windows < 12 and window > 1:
        return 1.5 * sigma_of_windows(values, 1) / math.sqrt(window)
    if n_windows < 3:
        return 0.0
    newest = values[len(values) - n_windows * window :]
    levels = medians(newest.reshape(n_windows, window))
    bends = np.abs(levels[:-2] - 2 * levels[1:-1] + levels[2:])
    return float(_MAD_TO_SIGMA * median(bends) / 6**0.5)


def rise_of(
    values: Values,
    *,
    effect: float,
    sigmas: float,
    skipped: float = 0.05,
    least_error: float = 1e-9,
) -> Rise | None:
    """The rise at the end of b bins: by `effect` at least, and by so many standard errors.

    The share `skipped` of the run's start is no past to be compared with. The newest half of
    the window has to agree. The best of many levels is low by chance: that much is given back.
    A single bin's error is no less than `least_error`, and a longer window's no less than a
    shorter one's would have it.
    """
    start, error, shorter = int(skipped * len(values)), least_error, 1
    for window in _WINDOWS:
        if len(values) - start < 2 * window:
            break
        levels = medians(sliding_window_view(values[start:-window], window))
        error = max(sigma_of_windows(values, window), error * (shorter / window) ** 0.5)
        shorter = window
        best = int(np.argmin(levels))
        luck = error * 0.8 * np.sqrt(2 * np.log(max(2.0, len(levels) / window)))
        past = float(levels[best]) + min(luck, float(median(levels) - levels[best]))
        now = median(values[-window:])
        is_agreed = quantiles(values[-window:], (0.25,))[0] - past >= 0.5 * effect
        n_errors = (now - past) / (error * 2**0.5)
        if now - past >= effect and n_errors >= sigmas and is_agreed:
            return Rise(best_bin=start + best, past=past, now=now, sigmas=n_errors)
    return None


def without_jumps(
    middle: Values, values: Values, pivots: Sequence[int], *, effect: float
) -> Values:
    """The series with the jump at each pivot taken out, so that it can be told as one.

    A jump is taken from as few bins on both sides as tell it to a fraction of `effect`; one
    that does not stand out of the noise is left. Bins after a pivot that are too few to tell
    its jump are left out of the result.
    """
    even, moves = values.copy(), _moves(middle, pivots)
    if not moves:
        return even
    x = np.log1p(np.maximum(middle - middle[0], 0.0))
    error = max(sigma_of_windows(values, 1), 2 * sigma_of_windows(values, 4))
    for index, (left, right) in enumerate(moves):
        end = moves[index + 1][0] if index + 1 < len(moves) else len(values)
        if end == len(values) and end - right < _LEAST_BINS_OF_A_JUMP:
            return even[:left]
        start = moves[index - 1][1] if index else 0
        if left - start < _LEAST_BINS_OF_A_JUMP:
            continue
        jump, noise = _jump(x, even, (start, left, right, end), error, effect / 8)
        if abs(jump) > _SIGMAS_OF_A_JUMP * noise:
            even[right:] -= jump
            even[left:right] = median(even[left - _LEAST_BINS_OF_A_JUMP : left])
    return even


def _jump(
    x: Values, values: Values, edges: tuple[int, int, int, int], error: float, enough: float
) -> tuple[float, float]:
    """From bins [start, left) to [right, end), without their common slope in x; and its error."""
    start, left, right, end = edges
    n_near = int(np.clip(3 * (error / enough) ** 2, _LEAST_BINS_OF_A_JUMP, _BINS_OF_A_JUMP))
    far = (
        slice(max(start, left - 2 * _BINS_OF_A_JUMP), left),
        slice(right, min(end, right + 2 * _BINS_OF_A_JUMP)),
    )
    before, after = slice(max(start, left - n_near), left), slice(right, min(end, right + n_near))
    n_bins = before.stop - before.start, after.stop - after.start
    across = [x[part] - x[part].mean() for part in far]
    power = sum(float(each @ each) for each in across)
    slope = sum(float(each @ values[part]) for each, part in zip(across, far, strict=True)) / power
    slope_error = error / math.sqrt(power)
    if abs(slope) < _SIGMAS_OF_A_JUMP * slope_error:
        slope = slope_error = 0.0
    apart = float(x[after].mean() - x[before].mean())
    jump = median(values[after]) - median(values[before]) - slope * apart
    noise = error * math.sqrt(1.5 / n_bins[0] + 1.5 / n_bins[1])
    return jump, math.hypot(noise, apart * slope_error)


def _moves(middle: Values, pivots: Sequence[int]) -> list[tuple[int, int]]:
    """Bins [left, right) that may hold steps of both sides; pivots close together are one."""
    moves: list[tuple[int, int]] = []
    n_bins = len(middle)
    for pivot in sorted(pivots):
        edge = int(np.searchsorted(middle, pivot))
        left, right = max(0, edge - 1), min(n_bins, edge + 1)
        if edge in (0, n_bins):
            continue
        if moves and left - moves[-1][1] < 3:
            moves[-1] = (moves[-1][0], right)
        else:
            moves.append((left, right))
    return moves


def without_lone_bins(values: Values) -> Values:
    """Lone bins brought back to 3 sigmas from the median of their neighbours."""
    if len(values) < 5:
        return values
    around = running_median(values, 5)
    reach = 3 * sigma_of_windows(values, 1)
    return np.clip(values, around - reach, around + reach)


def running_median(values: Values, window: int) -> Values:
    """(b,) of as many bins (an odd number) around each; the ends are mirrored."""
    half = window // 2
    if len(values) < window:
        return values
    padded = np.concatenate([values[:half][::-1], values, values[-half:][::-1]])
    return medians(sliding_window_view(padded, window))
