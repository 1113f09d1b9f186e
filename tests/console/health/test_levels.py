"""Levels of a series: its noise, its rise, its jumps at pivots, and where a rise begins."""

import numpy as np
import pytest

from console.health.evidence import Values
from console.health.levels import rise_of, sigma_of_windows, without_jumps
from console.health.onset import onset

B = 240
AT: Values = np.asarray(np.arange(B) * 100.0, np.float64)
NOISE = np.random.default_rng(2).normal(0, 0.05, B)
FALL = 3 / (1 + AT / 500) ** 0.5


def ramp(start: int, length: int, height: float) -> Values:
    return np.asarray(height * np.clip((np.arange(B) - start) / length, 0, 1))


def test_noise_is_measured_beside_a_trend() -> None:
    assert sigma_of_windows(NOISE + np.arange(B) * 0.3, 1) == pytest.approx(0.05, rel=0.2)


def test_noise_that_keeps_counts_for_what_it_is_in_longer_windows() -> None:
    slow = NOISE.copy()
    for index in range(1, B):
        slow[index] += 0.9 * slow[index - 1]
    assert sigma_of_windows(slow, 4) > 1.2 * sigma_of_windows(slow, 1) / 4**0.5


def test_fall_is_no_rise() -> None:
    assert rise_of(FALL + NOISE, effect=0.12, sigmas=6) is None


def test_noise_alone_is_no_rise_although_the_best_of_it_is_low() -> None:
    found = [
        rise_of(np.random.default_rng(seed).normal(0, 1, B), effect=0.1, sigmas=6)
        for seed in range(300)
    ]
    assert not any(found)


def test_rise_that_ended_is_none() -> None:
    risen = FALL + NOISE + ramp(120, 1, 0.8) - ramp(190, 1, 0.8)
    assert rise_of(risen, effect=0.12, sigmas=6) is None


def test_bins_between_which_only_the_last_one_is_high_are_no_rise() -> None:
    values = FALL + NOISE
    values[-1] += 5
    assert rise_of(values, effect=0.12, sigmas=6) is None


@pytest.mark.parametrize(("start", "length"), [(90, 1), (150, 1), (200, 1), (100, 60), (120, 120)])
def test_rise_is_dated_where_it_begins(start: int, length: int) -> None:
    values = FALL[np.minimum(np.arange(B), start)] + NOISE
    values += ramp(start, length, 0.8)
    found = rise_of(values, effect=0.12, sigmas=6)
    assert found is not None
    assert abs(onset(AT, values, found) - start) <= (0.02 if length == 1 else 0.05) * B


def test_jump_at_a_pivot_is_taken_out_and_nothing_else() -> None:
    even = FALL + NOISE
    jumped = even + ramp(100, 1, 0.7)
    assert np.abs(without_jumps(AT, jumped, [10_050], effect=0.1) - even).max() < 0.25
    assert np.array_equal(without_jumps(AT, even, [], effect=0.1), even)


def test_jump_that_does_not_stand_out_is_left() -> None:
    flat = NOISE + 1.0
    assert np.array_equal(without_jumps(AT, flat, [10_050], effect=0.1), flat)


def test_bins_after_a_pivot_that_are_too_few_are_left_out() -> None:
    assert len(without_jumps(AT, NOISE, [int(AT[-2])], effect=0.1)) < B - 2
