"""The bandit: UCB1 with floors and caps, a fold over its records, deaf to dead arms."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.proxy.bandit import Bandit, PolicyError
from trainer.rundir.checkpoints.checkpoint import INT32_MAX
from trainer.rundir.config.policy import (
    LOSS_MEMORY_PULLS,
    REWARD_MEMORY_PULLS,
    Earned,
    weights_of,
)
from trainer.rundir.config.rules import NEWEST_RULES, RULES
from trainer.rundir.config.run_toml import parse_settings, render_new_run
from trainer.rundir.config.settings import ArmPolicy, SourceSettings
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.state import ArmState

REPO_DOCSTRINGS = ArmState(pulls=5311, ema_reward=0.412, weight=1.546, available=True)


def _bandit(
    *available: str,
    policy: Mapping[str, ArmPolicy] | None = None,
    remembered: Mapping[str, ArmState] | None = None,
    phase: int = 1,
) -> Bandit:
    return Bandit(
        seed=1,
        phase=phase,
        available=available or ("a", "b"),
        policy=policy or {},
        remembered=remembered,
    )


def _record(arm: str, reward: float, *, loss: float = 3.0, phase: int = 1) -> LossRecord:
    return LossRecord(arm=arm, loss=loss, reward=reward, tokens=1024, phase=phase)


records = st.lists(
    st.builds(_record, st.sampled_from("abz"), st.floats(0, 1), loss=st.floats(0, 12)), max_size=40
)


def test_weight_is_ucb1_of_the_averaged_reward() -> None:
    bandit = _bandit(policy={"a": ArmPolicy(cap=9), "b": ArmPolicy(cap=9)})
    bandit.fold([_record("a", 0.5), _record("a", 0.9), _record("b", 0.2)])
    arms = bandit.arms()
    ema = 0.5 + 0.4 / REWARD_MEMORY_PULLS
    assert arms["a"].ema_reward == pytest.approx(ema)
    assert arms["a"].weight == pytest.approx(ema + math.sqrt(2 * math.log(3) / 2))
    assert arms["b"].weight == pytest.approx(0.2 + math.sqrt(2 * math.log(3)))
    weights = {name: arm.weight or 0 for name, arm in arms.items()}
    assert bandit.probabilities() == pytest.approx(
        {name: weight / sum(weights.values()) for name, weight in weights.items()}
    )


def test_view_has_everything_that_the_state_file_shows() -> None:
    bandit = _bandit(policy={"a": ArmPolicy(floor=0.1, cap=0.8)})
    bandit.fold([_record("a", 0.5, loss=4), _record("a", 0.5, loss=3)])
    arm = bandit.arms()["a"]
    assert (arm.pulls, arm.tokens, arm.available) == (2, 2048, True)
    assert (arm.floor, arm.cap, arm.weight) == (0.1, 0.8, 0.8)
    assert arm.ema_loss == bandit.ema_loss("a") == pytest.approx(4 - 1 / LOSS_MEMORY_PULLS)
    assert arm.probability == pytest.approx(0.8 / 1.8)
    assert bandit.arms()["b"] == ArmState(
        weight=1.0, probability=arm.probability and 1 - arm.probability, floor=0.0, cap=1.0
    )


def test_unpulled_arm_weighs_its_cap() -> None:
    bandit = _bandit(policy={"a": ArmPolicy(cap=3), "b": ArmPolicy(cap=1)})
    assert bandit.probabilities() == {"a": 0.75, "b": 0.25}


def test_floor_lifts_and_cap_lowers() -> None:
    bandit = _bandit(policy={"a": ArmPolicy(floor=5, cap=8), "b": ArmPolicy(cap=0.5)})
    bandit.fold([_record("a", 0.0), _record("b", 1.0)])
    assert [arm.weight for arm in bandit.arms().values()] == [5, 0.5]


def test_arm_with_cap_0_is_never_pulled() -> None:
    bandit = _bandit("a", "b", "c", policy={"a": ArmPolicy(cap=0), "c": ArmPolicy(cap=0)})
    assert {bandit.choose(step) for step in range(200)} == {"b"}


def test_all_caps_0_or_no_source_at_all_is_an_error() -> None:
    with pytest.raises(PolicyError, match="no arm can be pulled"):
        _bandit("a", policy={"a": ArmPolicy(cap=0), "gone": ArmPolicy(cap=1)})
    with pytest.raises(PolicyError, match="no arm can be pulled"):
        Bandit(seed=1, phase=1, available=(), policy={})


def test_only_arm_is_pulled_even_when_its_weight_is_0() -> None:
    bandit = _bandit("a")
    bandit.update("a", loss=3.0, reward=0.0, tokens=1024)
    assert bandit.arms()["a"].weight == 0
    assert bandit.choose(2) == "a"
    assert bandit.probabilities() == {"a": 1.0}


@pytest.mark.parametrize("cap", [1e-300, 1e308])
def test_extreme_caps_still_give_probabilities(cap: float) -> None:
    bandit = _bandit(
        policy={"a": ArmPolicy(floor=cap, cap=cap), "b": ArmPolicy(floor=cap, cap=cap)}
    )
    assert bandit.probabilities() == {"a": 0.5, "b": 0.5}


def test_choice_depends_on_seed_step_and_state_alone() -> None:
    def choices(bandit: Bandit) -> str:
        return "".join(bandit.choose(step) for step in range(60))

    assert choices(_bandit("b", "a")) == choices(_bandit("a", "b"))
    other_seed = Bandit(seed=2, phase=1, available=("a", "b"), policy={})
    assert choices(other_seed) != choices(_bandit())


def test_arms_are_drawn_in_proportion_to_their_probabilities() -> None:
    bandit = _bandit(policy={"a": ArmPolicy(cap=3), "b": ArmPolicy(cap=1)})
    share = sum(bandit.choose(step) == "a" for step in range(4000)) / 4000
    assert share == pytest.approx(0.75, abs=0.02)


@given(history=records, cut=st.integers(0, 40))
def test_fold_then_continue_is_the_straight_run_bit_for_bit(
    history: list[LossRecord], cut: int
) -> None:
    straight, resumed = _bandit(), _bandit()
    straight.fold(history)
    resumed.fold(history[:cut])
    for record in history[cut:]:
        resumed.update(record.arm, loss=record.loss, reward=record.reward, tokens=record.tokens)
    assert resumed.arms() == straight.arms()
    assert [resumed.choose(s) for s in range(20)] == [straight.choose(s) for s in range(20)]


@given(history=records)
def test_probabilities_are_sound_whatever_the_history(history: list[LossRecord]) -> None:
    bandit = _bandit()
    bandit.fold(history)
    probabilities = bandit.probabilities()
    assert set(probabilities) == {"a", "b"}
    assert sum(probabilities.values()) == pytest.approx(1)
    assert all(0 <= probability <= 1 for probability in probabilities.values())


def test_records_of_another_phase_leave_no_trace() -> None:
    bandit = _bandit(phase=2)
    bandit.fold([_record("a", 1.0), _record("z", 1.0)])
    assert bandit.arms() == _bandit(phase=2).arms()


def test_value_that_was_not_finite_counts_as_a_pull_and_moves_no_average() -> None:
    bandit = _bandit()
    bandit.update("a", loss=3.0, reward=0.5, tokens=1024)
    bandit.update("a", loss=None, reward=None, tokens=1024)
    arm = bandit.arms()["a"]
    assert (arm.pulls, arm.ema_loss, arm.ema_reward) == (2, 3.0, 0.5)


def test_zombie_repo_docstrings_is_reported_and_bends_no_sum() -> None:
    remembered = {"repo-docstrings": REPO_DOCSTRINGS, "a": ArmState(pulls=900, weight=0.9)}
    haunted, clean = _bandit(remembered=remembered), _bandit()
    for bandit in (haunted, clean):
        bandit.fold([_record("a", 0.4), _record("b", 0.6), _record("a", 0.5)])
    assert haunted.probabilities() == clean.probabilities()
    assert [haunted.choose(s) for s in range(500)] == [clean.choose(s) for s in range(500)]
    (zombie,) = haunted.zombies()
    assert (zombie.arm, zombie.pulls, zombie.ema_reward) == ("repo-docstrings", 5311, 0.412)
    assert zombie.weight == 1.546
    assert zombie.reason == "its source is gone; known from an earlier .state.json"
    shown = haunted.arms()["repo-docstrings"]
    assert (shown.probability, shown.available, shown.weight) == (0.0, False, 1.546)


def test_zombie_of_the_records_or_the_policy_is_out_of_every_sum() -> None:
    haunted, clean = _bandit(policy={"z": ArmPolicy(floor=50, cap=99)}), _bandit()
    haunted.fold([_record("z", 1.0)] * 100)
    for bandit in (haunted, clean):
        bandit.fold([_record("a", 0.4), _record("b", 0.6)])
    assert haunted.probabilities() == clean.probabilities()
    (zombie,) = haunted.zombies()
    assert (zombie.arm, zombie.pulls, zombie.ema_reward) == ("z", 100, 1.0)
    assert zombie.reason == "its source is gone; known from 100 steps of this phase and the policy"


def test_zombie_survives_in_the_view_from_start_to_start() -> None:
    first = _bandit(remembered={"repo-docstrings": REPO_DOCSTRINGS})
    second = _bandit(remembered=first.arms())
    assert second.arms() == first.arms()
    assert second.zombies() == first.zombies()


def test_source_that_comes_back_starts_from_the_records_not_from_the_old_view() -> None:
    bandit = _bandit("a", "repo-docstrings", remembered={"repo-docstrings": REPO_DOCSTRINGS})
    assert bandit.zombies() == ()
    assert bandit.arms()["repo-docstrings"].pulls == 0


@pytest.mark.parametrize("pulls_each", [2, 30, 1000])
@pytest.mark.parametrize("names", [("a", "b"), tuple("abcdefghij")])
def test_a_new_runs_bandit_prefers_what_is_rewarded_more(
    names: tuple[str, ...], pulls_each: int
) -> None:
    """Under the policy that a new run's file gives; a cap of 1 made all arms equal."""
    sources = {name: SourceSettings(path=name) for name in names}
    policy = parse_settings(render_new_run("demo", sources)).policy
    bandit = _bandit(*names, policy=policy)
    for _ in range(pulls_each):
        bandit.fold([_record(name, 0.8 if name == "a" else 0.3) for name in names])
    arms = bandit.arms()
    assert not any(arm.held_at for arm in arms.values())
    shares = bandit.probabilities()
    assert all(shares["a"] > 1.1 * shares[name] for name in names[1:])


def test_arm_of_a_new_run_that_was_never_pulled_comes_first() -> None:
    sources = {name: SourceSettings(path=name) for name in "ab"}
    bandit = _bandit(policy=parse_settings(render_new_run("demo", sources)).policy)
    bandit.fold([_record("a", 1.0)] * 2000)
    assert bandit.probabilities()["b"] > 0.8


def test_default_cap_of_the_newest_rules_is_above_every_score_of_a_pulled_arm() -> None:
    most = Earned(pulls=1, ema_reward=1.0)
    cap = RULES[NEWEST_RULES].default_cap
    weights = weights_of({"a": most}, {"a": ArmPolicy(cap=99.0)}, INT32_MAX)
    assert weights["a"] < cap
