"""Weights and probabilities under a policy, and what a new one would mean."""

import math

import pytest

from trainer.rundir.config.policy import Earned, preview_policy, probabilities_of, weights_of
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import ArmPolicy
from trainer.rundir.state import ArmState

TEXT = """
[sources.a]
path = "python:docs"
[sources.b]
path = "python:code"
[policy.a]
cap = 0.5
[policy.b]
floor = 1.0
cap = 1.5
"""


def test_weight_is_the_ucb_score_between_floor_and_cap() -> None:
    earned = {"a": Earned(pulls=50, ema_reward=0.5), "b": Earned(pulls=50, ema_reward=0.5)}
    score = 0.5 + math.sqrt(2 * math.log(100) / 50)
    wide = {"a": ArmPolicy(cap=9.0), "b": ArmPolicy(floor=2.0, cap=9.0)}
    assert weights_of(earned, wide, 100) == {"a": score, "b": 2.0}
    assert weights_of(earned, {"a": ArmPolicy(cap=0.3)}, 100) == {"a": 0.3, "b": min(score, 1.0)}


def test_all_weights_zero_is_shared_among_the_arms_with_a_cap() -> None:
    bounds = {"a": ArmPolicy(), "b": ArmPolicy(cap=0.0), "c": ArmPolicy()}
    assert probabilities_of(dict.fromkeys(bounds, 0.0), bounds) == {"a": 0.5, "b": 0.0, "c": 0.5}


def test_preview_shows_the_first_step_by_caps_and_later_by_what_was_learned() -> None:
    arms = {
        "a": ArmState(pulls=60, ema_reward=0.9, probability=0.7),
        "gone": ArmState(pulls=40, ema_reward=0.1, probability=0.3),
    }
    preview = preview_policy(parse_settings(TEXT), arms)
    assert list(preview) == ["a", "b", "gone"]
    assert (preview["a"].now, preview["a"].first) == (0.7, 0.25)
    assert (preview["b"].now, preview["b"].first) == (None, 0.75)
    assert (preview["gone"].now, preview["gone"].first, preview["gone"].learned) == (
        0.3,
        None,
        None,
    )
    learned = [preview[name].learned for name in ("a", "b")]
    assert learned == pytest.approx([0.25, 0.75])
