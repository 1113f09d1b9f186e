"""Looking at a run until what is waited for has come."""

import argparse
import time
from collections.abc import Callable

from console.follow.follower import Follower
from console.verbs.verb import NEEDS_ATTENTION, NOT_RUNNING
from console.view.run_view import RunView

POLL_SECONDS = 0.1


def look_at_all(follower: Follower) -> RunView:
    """A view of the whole history, judged."""
    view = follower.look()
    while not (view.is_lost or (view.is_complete and view.is_judged)):
        view = follower.look()
    return view


def refused(follower: Follower) -> int:
    view = follower.look()
    return NEEDS_ATTENTION if view.is_running or view.is_lost else NOT_RUNNING


def look_until(
    follower: Follower, timeout_seconds: float | None, is_over: Callable[[RunView], bool]
) -> RunView | None:
    """Look until `is_over`, or the run can't be reached; `None` at the timeout."""
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        view = follower.look()
        if view.is_lost or is_over(view):
            return view
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(POLL_SECONDS)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="wait no longer than this (default: wait)"
    )
