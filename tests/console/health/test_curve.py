"""Series as bins that grow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from console.health.curve import MOST_BINS, Curve, curve_of, grown

NUMBERS = np.random.default_rng(0).normal(size=3000)


def same(one: Curve, other: Curve) -> bool:
    names = ("first", "middle", "value", "tail_step", "tail_value")
    is_same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    return is_same and one.width == other.width


@given(st.lists(st.integers(0, 700), max_size=5))
def test_curve_that_grew_is_the_one_from_scratch(parts: list[int]) -> None:
    curve, n = curve_of(np.empty(0), np.empty(0)), 0
    for part in parts:
        step = np.arange(n, min(n + part, 3000))
        is_room = curve.has_room_for(len(step))
        n += len(step)
        curve = (
            grown(curve, step, NUMBERS[step]) if is_room else curve_of(np.arange(n), NUMBERS[:n])
        )
        assert same(curve, curve_of(np.arange(n), NUMBERS[:n]))


def test_bins_are_medians_of_as_many_values_and_never_too_many() -> None:
    curve = curve_of(np.arange(3000), NUMBERS)
    assert curve.width == 16
    assert len(curve) == 3000 // 16 <= MOST_BINS
    assert abs(curve.value[3] - np.median(NUMBERS[48:64])) < 1e-6
    assert (curve.first[3], curve.middle[3], curve.n_values) == (48, 55.5, 3000)


def test_what_is_not_known_is_in_no_bin() -> None:
    values = np.array([1.0, np.nan, 3.0, np.inf, 5.0])
    curve = curve_of(np.arange(5), values)
    assert curve.value.tolist() == [1.0, 3.0, 5.0]
    assert curve.first.tolist() == [0, 2, 4]


def test_share_is_a_mean() -> None:
    shares = curve_of(np.arange(1024), np.arange(1024) % 4 == 0, "mean").value
    assert set(shares.tolist()) == {0.25}
