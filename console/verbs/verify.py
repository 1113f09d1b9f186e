"""`andrea-console verify`: every file of a run checked; findings on stdout."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from console import formatting
from console.process.replay import replay
from console.verbs.verb import NEEDS_ATTENTION, Verb, print_json, say
from trainer.rundir.actions import log_action
from trainer.rundir.checkpoints.coverage import how_to_give_up
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.lost_history import give_up_history
from trainer.rundir.names import escape_control, shown
from trainer.rundir.outcomes import HistoryError, SaveError
from trainer.rundir.records.mending import PutRight, mend
from trainer.rundir.verification import Finding, verify


def verify_run(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print each finding as it comes; exit 0 if nothing is wrong, else 1."""
    if arguments.mend:
        _mend(run)
    if arguments.give_up_history:
        _give_up_history(run)
    found: list[Finding] = []
    for finding in _findings(run, arguments.replay):
        found.append(finding)
        if not arguments.json:
            _show(finding)
    wrong = [finding for finding in found if not finding.ok]
    if arguments.json:
        report = {
            "run": shown(run.name),
            "ok": not wrong,
            "findings": [asdict(finding) for finding in found],
        }
        print_json(report)
    else:
        print(f"{len(found)} checked, {len(wrong)} wrong", file=sys.stderr)
    return NEEDS_ATTENTION if wrong else 0


def _mend(run: RunDirectory) -> None:
    """Put history and audits right, while no trainer can have them open; raises `RunError`."""
    lock = TrainerLock(run.lock, pid=0)
    try:
        for path in (run.loss, run.samples):
            if path.exists() and (done := _mended(run, path)) is not None:
                kept = f"; as it was: {done.kept_as.name}" if done.kept_as else ""
                message = (
                    f"{path.name}: {formatting.count(done.n_records, 'record')} put right{kept}"
                )
                log_action(run.actions, "mend", message, ok=True)
                say(message)
    except OSError as error:
        raise SaveError(f"{error.filename or run.path}: {error.strerror}") from error
    finally:
        lock.release()


def _mended(run: RunDirectory, path: Path) -> PutRight | None:
    try:
        return mend(path)
    except HistoryError as error:
        if path != run.loss:
            raise
        raise HistoryError(f"{error}. Without a backup, {how_to_give_up(run.path)}") from error


def _give_up_history(run: RunDirectory) -> None:
    """As `_mend`, where there is nothing to be put right."""
    lock = TrainerLock(run.lock, pid=0)
    try:
        done = give_up_history(run)
    except OSError as error:
        raise SaveError(f"{error.filename or run.path}: {error.strerror}") from error
    finally:
        lock.release()
    kept = f"; what was there: {done.kept_as.name}" if done.kept_as else ""
    say(
        f"{run.loss.name}: {formatting.count(done.n_lost, 'record')} given up; the next start goes"
        f" on from {done.base.path.name}{kept}"
    )


def _findings(run: RunDirectory, span: tuple[int, int] | None) -> Iterator[Finding]:
    try:
        yield from chain(verify(run), replay(run, *span) if span else ())
    except OSError as error:
        yield Finding(part="disk", ok=False, what=str(error))


def _show(finding: Finding) -> None:
    mark = "ok   " if finding.ok else "WRONG"
    line = f"{mark} {finding.part:<10} {finding.what}"
    print(escape_control(line), flush=True)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mend",
        action="store_true",
        help="first put a history or audits right that an editor or a tool has laid out otherwise;"
        " the file as it was is kept",
    )
    parser.add_argument(
        "--give-up-history",
        action="store_true",
        help="where the history is lost and there is no backup: let the next start go on from the"
        " newest checkpoint; its weights are kept, the steps without a record count for nothing",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")
    parser.add_argument(
        "--replay",
        metavar="A..B",
        type=_span,
        help="train steps A to B again in a scratch directory beside the run, and compare",
    )


def _span(text: str) -> tuple[int, int]:
    first, _, last = text.partition("..")
    if not (first.isdecimal() and last.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not A..B, as 100..200")
    return int(first), int(last)


VERIFY = Verb(
    name="verify",
    act=verify_run,
    add_arguments=_add_arguments,
)
