"""A run and its branches, a row each: where each of them is, and how."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from console.follow.follower import is_state_current
from console.fork.grown import Grown
from console.process.presence import presence_of
from console.view.run_view import Severity, Status
from console.view.status import Evidence, status_of
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.protected import forks_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.records.record_fields import step_of
from trainer.rundir.state import read_state


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRow:
    """A branch, or the run itself."""

    name: str
    status: Status
    path: Path | None = None
    """None: not made yet."""
    step: int | None = None
    base: int | None = None
    """The step that it was forked at; None: it is the run itself, or that isn't known."""
    problem: str = ""
    """Why this console makes or trains it no further."""


def branch_rows(run: RunDirectory, grown: Sequence[Grown]) -> tuple[BranchRow, ...]:
    """The run, its branches by age, then those still to be made; raises `OSError`."""
    # a hidden one is still being made
    found = [(path, w) for path, w in forks_of(run) if not path.parent.name.startswith(".")]
    found.sort(key=lambda each: each[0].stat().st_mtime)
    own = RunDirectory(run.path.resolve())
    rows = [_row(own, None)]
    rows += [_row(RunDirectory(path.parent), step_of(written)) for path, written in found]
    return _with_grown(rows, grown)


def _row(run: RunDirectory, base: int | None) -> BranchRow:
    presence, state = presence_of(run), read_state(run.state)
    step = step_of(last_record(run.loss) or {})
    newest = list_checkpoints(run.path, None).newest
    evidence = Evidence(
        presence=presence,
        state=state,
        is_state_current=is_state_current(state, presence, None),
        has_records=step is not None and step > (base or 0),
        newest_checkpoint_step=newest.step if newest else None,
    )
    return BranchRow(name=run.name, path=run.path, step=step, base=base, status=status_of(evidence))


def _with_grown(rows: Sequence[BranchRow], grown: Sequence[Grown]) -> tuple[BranchRow, ...]:
    """What the files can't tell: that a branch is being made, waits, or was given up."""
    told = {one.path: one for one in grown if one.path is not None}
    known = [_told(row, told[row.path]) if row.path in told else row for row in rows]
    unmade = [
        BranchRow(name=one.name, status=_status(one), problem=one.problem)
        for one in grown
        if one.path is None
    ]
    return (*known, *unmade)


def _told(row: BranchRow, one: Grown) -> BranchRow:
    if row.status.word != "not running":
        return row
    return replace(row, status=_status(one), problem=one.problem)


def _status(one: Grown) -> Status:
    severity = Severity.BAD if one.problem else Severity.ENDED if one.is_done else Severity.BUSY
    return Status(word=one.words, severity=severity)
