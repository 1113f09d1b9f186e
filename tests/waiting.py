"""Waiting for something that can be observed, without taking the cores from what makes it true."""

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.005


def comes_true(
    fact: Callable[[], object], seconds: float, pause_seconds: float = PAUSE_SECONDS
) -> bool:
    """Look at `fact()` until it holds, for at most so long; whether it did."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_seconds)
    return True


def wait_for(fact: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait until `fact()` holds; fails with `what` if it never does."""
    assert comes_true(fact, seconds), f"waited in vain for: {what}"
