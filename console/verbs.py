"""The verbs of the command line: the keys' operations for scripts. Data on stdout, words on
stderr.
"""

import argparse
import time
from collections.abc import Callable

import orjson

from console import upkeep
from console.compare_verb import COMPARE
from console.follow import Follower
from console.fork_verb import FORK
from console.operations import Operations
from console.pivot_verb import PIVOT
from console.report import NEEDS_ATTENTION, NOT_RUNNING, as_json, as_text, exit_code_of
from console.run_view import RequestStage, RunView
from console.verb import Verb, say
from trainer.rundir.layout import RunDirectory

_POLL_SECONDS = 0.1


def look_at_all(follower: Follower) -> RunView:
    """A view of the whole history."""
    view = follower.look()
    while not view.is_complete:
        view = follower.look()
    return view


def status(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print how the run is; exit 0 healthy, 1 needs attention, 3 not running."""
    view = look_at_all(Follower(run))
    if arguments.json:
        print(orjson.dumps(as_json(view), option=orjson.OPT_INDENT_2).decode())
    else:
        print(as_text(view))
    return exit_code_of(view)


def checkpoint(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Ask for a checkpoint, wait until it is written, print its path."""
    operations = Operations(run)
    follower = Follower(run, operations)
    outcome = operations.checkpoint()
    say(outcome.message)
    if not outcome.ok:
        return _refused(follower)
    view = _wait(follower, arguments.timeout, lambda view: not operations.requests.is_open)
    if view is None or view.request is None:
        say("not written yet; the request stands")
        return NEEDS_ATTENTION
    say(view.request.message)
    if view.request.stage is not RequestStage.WRITTEN or view.request.step is None:
        return NEEDS_ATTENTION
    print(run.path / next(row.name for row in view.checkpoints if row.step == view.request.step))
    return 0


def stop(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Ask the trainer to save and end, wait until it is gone, print the newest checkpoint."""
    operations = Operations(run)
    follower = Follower(run, operations)
    outcome = operations.stop()
    say(outcome.message)
    if not outcome.ok:
        return _refused(follower)
    view = _wait(follower, arguments.timeout, lambda view: not view.is_running)
    if view is None:
        say("the trainer has not ended yet; it was asked to")
        return NEEDS_ATTENTION
    say(f"{view.status.word}: {view.status.detail}")
    if view.newest is not None:
        print(run.path / view.newest.name)
    return NEEDS_ATTENTION if view.status.word == "failed" else 0


def _refused(follower: Follower) -> int:
    return NEEDS_ATTENTION if follower.look().is_running else NOT_RUNNING


def _wait(
    follower: Follower, timeout_seconds: float | None, is_over: Callable[[RunView], bool]
) -> RunView | None:
    """Look until `is_over`; `None` at the timeout."""
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        view = follower.look()
        if is_over(view):
            return view
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_SECONDS)


def _takes_json(parser: argparse.ArgumentParser) -> None:
    words = "stopped, finished, held, failed or not running"
    parser.add_argument(
        "--json",
        action="store_true",
        help=f'as JSON, for scripts; without a trainer "state" is {words}',
    )


def _takes_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="wait no longer than this (default: wait)"
    )


VERBS: dict[str, Verb] = {
    "status": Verb(
        help="print how the run is; exit 0 healthy, 1 needs attention, 3 not running",
        act=status,
        add_arguments=_takes_json,
    ),
    "checkpoint": Verb(
        help="ask for a checkpoint, wait until it is written, print its path",
        act=checkpoint,
        add_arguments=_takes_timeout,
    ),
    "stop": Verb(
        help="ask the trainer to save and end, wait until it is gone, print the newest checkpoint",
        act=stop,
        add_arguments=_takes_timeout,
    ),
    "pivot": PIVOT,
    "verify": Verb(
        help="check every file of the run; exit 0 all well, 1 something is not",
        act=upkeep.verify_run,
        add_arguments=upkeep.add_verify_arguments,
    ),
    "thin": Verb(
        help="show which checkpoints may go; with --yes, delete them",
        act=upkeep.thin_run,
        add_arguments=upkeep.add_thin_arguments,
    ),
    "service": Verb(
        help="print a systemd unit that trains the run",
        act=upkeep.print_service,
        add_arguments=upkeep.add_service_arguments,
    ),
    "fork": FORK,
    "compare": COMPARE,
}
