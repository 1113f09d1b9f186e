"""The policy's arithmetic: weights and probabilities of arms, for the bandit and for a preview.

Peter Auer, Nicolò Cesa-Bianchi, Paul Fischer: Finite-time Analysis of the Multiarmed Bandit
Problem (2002), with the mean reward replaced by a moving average, and the arm drawn in
proportion to its weight instead of the greatest taken:

    tentative   = ema_reward + sqrt(2 ln(total pulls) / pulls), infinite before the first pull
    weight      = min(max(tentative, floor), cap)
    probability = weight / sum of weights
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trainer.rundir.config.settings import ArmPolicy, Settings
from trainer.rundir.state import ArmState

EXPLORATION = 1.0
"""The factor of UCB1's exploration term (Auer et al. 2002 have 1)."""
REWARD_MEMORY_PULLS = 20
LOSS_MEMORY_PULLS = 50
"""Pulls over which the averages forget: each pull moves them by one part in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What an arm has shown so far."""

    pulls: int = 0
    ema_reward: float | None = None


def weights_of(
    earned: Mapping[str, Earned], bounds: Mapping[str, ArmPolicy], total_pulls: int
) -> dict[str, float]:
    """The weight of each arm, between its floor and its cap; an arm without bounds has 0 and 1."""
    weights = {}
    for name, arm in earned.items():
        policy = bounds.get(name, ArmPolicy())
        weights[name] = min(max(_tentative(arm, total_pulls), policy.floor), policy.cap)
    return weights


def probabilities_of(
    weights: Mapping[str, float], bounds: Mapping[str, ArmPolicy]
) -> dict[str, float]:
    """Shares that add up to 1; equal among the arms with a cap where every weight is 0."""
    largest = max(weights.values())
    if not largest:
        weights = {name: float(bounds.get(name, ArmPolicy()).cap > 0) for name in weights}
        largest = 1.0
    shares = {name: weight / largest for name, weight in weights.items()}
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}


def _tentative(arm: Earned, total_pulls: int) -> float:
    if not arm.pulls:
        return math.inf
    bonus = math.sqrt(2 * math.log(total_pulls) / arm.pulls)
    return (arm.ema_reward or 0.0) + EXPLORATION * bonus


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPreview:
    """What a new policy means for one arm; `None`: the arm is not there then, or unknown."""

    now: float | None
    """Probability in the phase that runs."""
    first: float | None
    """In the new phase's first step: no arm has a pull, so every weight is its cap."""
    learned: float | None
    """If the arm had the pulls and the reward of today: where the new phase may come to."""


def preview_policy(settings: Settings, arms: Mapping[str, ArmState]) -> dict[str, ArmPreview]:
    """Each arm of today and of `settings`, by name: the probabilities now and under `settings`."""
    bounds = {name: settings.bounds_of(name) for name in settings.sources}
    learned = {name: _earned(arms.get(name)) for name in bounds}
    fresh = dict.fromkeys(bounds, Earned())
    total_pulls = sum(arm.pulls for arm in learned.values())
    first = probabilities_of(weights_of(fresh, bounds, 0), bounds)
    later = probabilities_of(weights_of(learned, bounds, total_pulls), bounds)
    return {
        name: ArmPreview(
            now=arms[name].probability if name in arms else None,
            first=first.get(name),
            learned=later.get(name),
        )
        for name in sorted({*bounds, *arms})
    }


def _earned(arm: ArmState | None) -> Earned:
    if arm is None or not arm.available:
        return Earned()
    return Earned(pulls=arm.pulls, ema_reward=arm.ema_reward)
