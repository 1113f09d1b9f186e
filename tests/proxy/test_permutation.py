"""A keyed permutation: bijective for every size, the same for ever, without an array of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.proxy.permutation import Permutation


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 15, 16, 17, 1023, 1024, 1025, 99_991])
def test_each_number_below_n_comes_once(n: int) -> None:
    assert np.array_equal(np.sort(Permutation(n, "test", 1)(np.arange(n))), np.arange(n))


@given(n=st.integers(1, 3000), seed=st.integers(0, 2**64))
def test_any_size_and_key_give_a_bijection(n: int, seed: int) -> None:
    assert np.array_equal(np.sort(Permutation(n, "test", seed)(np.arange(n))), np.arange(n))


@given(n=st.integers(1 << 20, (1 << 62) - 1), start=st.integers(0, 1 << 62))
def test_numbers_of_a_large_one_stay_below_n_and_differ(n: int, start: int) -> None:
    asked = (start + np.arange(min(n, 64))) % n
    found = Permutation(n, "test")(asked)
    assert found.min() >= 0
    assert found.max() < n
    assert len(set(found.tolist())) == len(asked)


@given(n=st.integers(1, (1 << 62) - 1), start=st.integers(0, 1 << 62))
def test_the_inverse_leads_back(n: int, start: int) -> None:
    asked, order = (start + np.arange(min(n, 64))) % n, Permutation(n, "test")
    assert np.array_equal(order.inverse(order(asked)), asked)


def test_it_is_the_same_in_every_release() -> None:
    numbers = np.arange(6)
    assert Permutation(10, "order", 7, "a", 0)(numbers).tolist() == [8, 4, 3, 6, 9, 0]
    assert Permutation(1 << 20, "order", 7, "a", 0)(numbers).tolist() == [
        674077,
        502867,
        78203,
        810229,
        454122,
        998715,
    ]
    assert Permutation(123_456_789_012, "order", 7, "b", 3)(numbers).tolist() == [
        88970930755,
        101264753388,
        77720627477,
        27506735999,
        118240312741,
        11805292847,
    ]


def test_numbers_are_found_alone_as_they_are_together() -> None:
    order = Permutation(1_000_003, "test")
    together = order(np.arange(50)).tolist()
    assert [int(order(np.array([number]))[0]) for number in range(50)] == together


def test_rows_that_follow_each_other_are_spread_evenly() -> None:
    """Chi² of 64 bins over the first 64,000 of two million; 99.9999 % of even ones are below."""
    found = Permutation(2_000_000, "test")(np.arange(64_000))
    counts = np.bincount(found * 64 // 2_000_000, minlength=64)
    assert ((counts - 1000) ** 2 / 1000).sum() < 135
    steps = np.bincount(np.diff(found) % 64, minlength=64)
    assert ((steps - 1000) ** 2 / 1000).sum() < 135
