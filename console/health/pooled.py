"""The arms' losses as one, whatever the shares that they are drawn with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from console.health.curve import Curve
from console.health.evidence import Values
from console.health.levels import without_jumps, without_lone_bins

FEWEST_BINS = 48
"""An arm with fewer is too seldom drawn to be judged."""
_MOST_ARMS = 32
_EFFECT = 0.2
"""Nats of a single arm."""


class Pool:
    """What arms have in common, on one grid of steps.

    A mean over unlike arms moves with their shares. Here the changes from bin to bin are
    averaged, with weights that stand still, over the arms that are there on both sides.
    """

    def __init__(self, grid: Values, arms: Mapping[str, Curve], pivots: Sequence[int]) -> None:
        often = [name for name, curve in arms.items() if len(curve) >= FEWEST_BINS]
        often.sort(key=lambda name: -_n_binned(arms[name]))
        self.arms = {name: arms[name] for name in often[:_MOST_ARMS]}
        self.grid = grid
        self.pivots = pivots
        self._changes = {
            name: np.diff(_on_grid(grid, curve, pivots)) for name, curve in self.arms.items()
        }

    def without(self, names: Collection[str]) -> Values | None:
        """The common part of all others, 0 at its start; `None` if there are none."""
        kept = [name for name in self.arms if name not in names]
        if not kept:
            return None
        changes = np.stack([self._changes[name] for name in kept])
        weights = np.array([float(_n_binned(self.arms[name])) for name in kept])[:, None]
        is_there = np.isfinite(changes)
        total = (weights * is_there).sum(axis=0)
        sums = np.where(is_there, changes * weights, 0.0).sum(axis=0)
        means = np.where(total > 0, sums / np.maximum(total, 1.0), 0.0)
        return np.concatenate([[0.0], np.cumsum(means)])


def _on_grid(grid: Values, curve: Curve, pivots: Sequence[int]) -> Values:
    """An arm's level at each step of the grid, NaN where it was not drawn.

    Beyond its outer bins, but within one that is not whole yet, it is as it was there: an arm
    that dropped out of the mean for the last bin would leave it to the others' noise.
    """
    even = without_jumps(curve.middle, curve.value, pivots, effect=_EFFECT)
    if len(even) < 2:
        return np.full(len(grid), np.nan)
    middle, even = curve.middle[: len(even)], without_lone_bins(even)
    on_grid = np.interp(grid, middle, even)
    is_early = grid < middle[0] - 1.5 * (middle[1] - middle[0])
    is_late = grid > middle[-1] + 1.5 * (middle[-1] - middle[-2])
    return np.where(is_early | is_late, np.nan, on_grid)


def _n_binned(curve: Curve) -> int:
    return len(curve) * curve.width
