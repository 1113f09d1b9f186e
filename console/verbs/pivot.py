"""`andrea-console pivot`: the wizard's pivot without a screen; facts on stdout, words on stderr."""

import argparse
import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from console.follow.follower import Follower
from console.formatting import percent, size
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver
from console.pivot.facts import Progress
from console.pivot.plan import Check, Plan, check_preconditions, make_plan
from console.pivot.policy_draft import size_words
from console.verbs.verb import NEEDS_ATTENTION, Verb, say
from console.verbs.waiting import look_at_all
from trainer.rundir.config.policy_change import load_policy_file
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.pivot.journal import HoldMode
from trainer.rundir.sources.source_size import measure_source
from trainer.rundir.state import read_state


def pivot(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Request a pivot and walk it, or take up one that broke; exit 0 when it is over."""
    if arguments.now and not arguments.policy:
        raise SettingsError("--now is for a new pivot, with --policy: one under way keeps its own")
    pivoting = PivotDriver(Operations(run))
    if arguments.roll_back:
        outcome = pivoting.roll_back()
        say(outcome.message)
        return 0 if outcome.ok else NEEDS_ATTENTION
    if not arguments.go_on:
        plan = _plan(run, arguments)
        if not _is_healthy(run) or not (arguments.yes or _is_confirmed(run)):
            return NEEDS_ATTENTION
        _tell(pivoting.request(plan))
    _follow(pivoting.walk())
    return 0


def _plan(run: RunDirectory, arguments: argparse.Namespace) -> Plan:
    """The plan, told on stderr before anything is done."""
    mode = HoldMode.NOW if arguments.now else HoldMode.BOUNDARY
    state = read_state(run.state)
    change = load_policy_file(arguments.policy)
    plan = make_plan(run, change, mode, state.arms if state is not None else {})
    for line in plan.diff:
        say(line)
    for name, source in change.added.items():
        say(f"{name}: {size_words(measure_source(run, source))}")
    for name, arm in plan.preview.items():
        say(f"{name}: probability now {percent(arm.now, 1)}, then {percent(arm.first, 1)}")
    archives = ", ".join(f"{path.name} ({size(n_bytes)})" for path, n_bytes in plan.archives)
    say(f"to {plan.archive_folder}: {archives or 'nothing'}; {run.loss.name} stays")
    return plan


_ANSWERS = {True: "ok", False: "NO", None: "unknown"}


def _is_healthy(run: RunDirectory) -> bool:
    view = look_at_all(Follower(run))
    checks = check_preconditions(run, view, load_settings(run.settings).audit.threshold)
    failed = [check for check in checks if check.has_failed]
    for check in checks:
        say(_line(check))
    return not failed


def _line(check: Check) -> str:
    mend = f": {check.mend}" if check.mend else ""
    return f"{_ANSWERS[check.ok]}: {check.what}{mend}"


def _is_confirmed(run: RunDirectory) -> bool:
    if not sys.stdin.isatty():
        raise SettingsError("pivot: without a terminal it needs --yes; nothing was changed")
    say(f"type the run's name ({run.name}) to pivot it, anything else to leave it")
    if sys.stdin.readline().strip() == run.name:
        return True
    say("left as it is")
    return False


def _follow(walk: Iterable[Progress]) -> None:
    waited = ""
    for progress in walk:
        if progress.is_done:
            _tell(progress)
        elif progress.message != waited:
            waited = progress.message
            say(waited)


def _tell(progress: Progress) -> None:
    with contextlib.suppress(BrokenPipeError):  # no reader is no reason to stop half-way
        print(f"{progress.stage}: {escape_control(progress.message)}", flush=True)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--policy", type=Path, metavar="FILE", help="what is to be another (TOML)")
    what.add_argument(
        "--continue", dest="go_on", action="store_true", help="go on with a pivot that broke"
    )
    what.add_argument("--roll-back", action="store_true", help="take back a pivot that broke")
    parser.add_argument(
        "--now", action="store_true", help="hold after the step under way, not at the boundary"
    )
    parser.add_argument("--yes", action="store_true", help="don't ask for the run's name")


PIVOT = Verb(
    name="pivot",
    act=pivot,
    add_arguments=_add_arguments,
)
