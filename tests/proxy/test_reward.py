"""The reward: bounded, and won neither by repetition nor by noise."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainer.proxy.bandit import Bandit
from trainer.proxy.reward import compute_reward, distinct_trigram_share

Rows = NDArray[np.int64]
NOISE: Rows = np.random.RandomState(0).randint(0, 512, (8, 129)).astype(np.int64)
REPETITIVE: Rows = np.full((8, 129), 7)
LOSSES = st.floats(0, 1e6)


@given(loss=LOSSES, ema_loss=st.none() | LOSSES, region=st.booleans())
def test_reward_is_in_the_unit_interval(loss: float, ema_loss: float | None, region: bool) -> None:
    reward = compute_reward(REPETITIVE if region else NOISE, loss=loss, ema_loss=ema_loss)
    assert 0 <= reward <= 1


def test_progress_pays_and_the_loss_itself_does_not() -> None:
    none, some, much = (compute_reward(NOISE, loss=3 - p, ema_loss=3) for p in (0, 0.1, 0.3))
    assert none == pytest.approx(1 / (1 + math.e))
    assert some == pytest.approx(0.5)
    assert much == pytest.approx(1 / (1 + math.exp(-2)))
    assert compute_reward(NOISE, loss=0.01, ema_loss=0.01) == none
    assert compute_reward(NOISE, loss=9, ema_loss=None) == none


def test_repetition_earns_almost_nothing_even_while_it_is_learned() -> None:
    assert compute_reward(REPETITIVE, loss=1, ema_loss=6) < 0.01


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        (np.array([[1, 2, 3, 4], [1, 2, 3, 5]]), 0.75),
        (np.array([[1, 1, 1, 1]]), 0.5),
        (np.array([[1, 2]]), 1.0),
        (np.array([[2_000_000, 0, 1, 2]]), 1.0),
    ],
)
def test_distinct_trigrams_are_counted_over_rows_and_never_across_them(
    rows: Rows, share: float
) -> None:
    assert distinct_trigram_share(rows) == share


def test_share_of_a_large_batch_is_that_of_its_first_rows() -> None:
    large = np.concatenate([NOISE] * 100)
    assert distinct_trigram_share(large) == distinct_trigram_share(large[:63])


def _pulls_of_simulated_learners(steps: int) -> dict[str, int]:
    """Three sources whose loss falls as that of real ones does, with a batch's jitter."""
    random = np.random.RandomState(1)
    text: Rows = random.zipf(1.3, (8, 129)) % 512
    losses: dict[str, Callable[[int], float]] = {
        "noise": lambda pulls: math.log(512) + 0.02 * random.randn(),
        "repetitive": lambda pulls: 6 * math.exp(-pulls / 15) + 0.02 * abs(random.randn()),
        "text": lambda pulls: 6.2 * (pulls + 1) ** -0.13 + 0.08 * random.randn(),
    }
    batches = {"noise": NOISE, "repetitive": REPETITIVE, "text": text}
    bandit = Bandit(seed=3, phase=1, available=losses, policy={})
    for step in range(1, steps + 1):
        arm = bandit.choose(step)
        loss = losses[arm](bandit.arms()[arm].pulls)
        reward = compute_reward(batches[arm], loss=loss, ema_loss=bandit.ema_loss(arm))
        bandit.update(arm, loss=loss, reward=reward, tokens=1024)
    return {name: arm.pulls for name, arm in bandit.arms().items()}


def test_source_that_is_still_being_learned_wins_over_repetition_and_noise() -> None:
    pulls = _pulls_of_simulated_learners(1500)
    assert pulls["text"] > 1.15 * pulls["noise"]
    assert pulls["noise"] > 1.5 * pulls["repetitive"]
