"""The moment of quiet before keys count."""

import pytest

from console.ui.input_guard import QUIET_SECONDS, InputGuard
from tests.console.headless import Hands


def guard_of(hands: Hands) -> InputGuard:
    return InputGuard(lambda: hands.monotonic)


def test_keys_count_only_after_the_quiet() -> None:
    hands = Hands()
    guard = guard_of(hands)
    assert not guard.lets_through()
    hands.monotonic += QUIET_SECONDS
    assert guard.lets_through()


def test_each_ignored_key_starts_the_quiet_anew() -> None:
    hands = Hands()
    guard = guard_of(hands)
    for _ in range(10):
        hands.monotonic += QUIET_SECONDS * 0.9
        assert not guard.lets_through()
    hands.monotonic += QUIET_SECONDS
    assert guard.lets_through()


def test_once_open_it_stays_open_until_it_is_closed() -> None:
    hands = Hands()
    guard = guard_of(hands)
    hands.monotonic += QUIET_SECONDS
    assert guard.lets_through()
    assert guard.lets_through()
    guard.close()
    assert not guard.is_open
    assert guard.remaining_seconds == pytest.approx(QUIET_SECONDS)
