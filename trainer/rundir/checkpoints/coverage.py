"""Which checkpoints are a run's own: the one answer, which everything that counts them asks for.

A file that has a checkpoint's name, size and header is the run's if its loss history has come to
that step. A checkpoint's history is durable before the file has its name, so a file of a later
step is of another run, or this run's history was lost. Neither may be resumed from, thinned, or
counted as the newest.

Only the history's two ends are read, however long it is. That there is no gap between them is the
writer's doing: it appends one record a step, writes what found no room before the next one, and a
start checks each record up to the checkpoint that it resumes from. Where steps are trained again
and come out otherwise, the file's last record is of an earlier step than some before it; it still
tells how far the history goes now, and never falls behind the checkpoint that was resumed from.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trainer.rundir.checkpoints.checkpoint import (
    INT32_MAX,
    Checkpoint,
    Inventory,
    Skipped,
    list_checkpoints,
)
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.all_audits import all_audits
from trainer.rundir.records.newest_records import last_record, opening
from trainer.rundir.records.record_fields import step_of
from trainer.rundir.records.record_file import load_records

Steps = Sequence[int] | npt.NDArray[np.int64]
"""Ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far a loss history goes."""

    last_step: int = 0
    """It has the records of all steps from 1 to this one."""
    why: str = ""
    """Why a checkpoint of a later step is not the run's."""


def coverage_of(run: RunDirectory, n_params: int | None) -> Coverage:
    """How far the history of `run` goes, by its first and its last record; never raises.

    Whether a checkpoint is covered is asked after it was seen: its record is there by then. A
    foreign trainer (`n_params` is `None`) that writes no history is taken at its word.
    """
    try:
        is_array, first = opening(run.loss)
        last = last_record(run.loss)
    except FileNotFoundError:
        if n_params is None:
            return Coverage(last_step=INT32_MAX)
        return Coverage(why=f"there is no {run.loss.name}")
    except OSError as error:
        return Coverage(why=f"{run.loss.name} can't be read: {error.strerror}")
    begins = None if first is None else step_of(first)
    ends = None if last is None else step_of(last)
    if not is_array or begins is None or ends is None:
        return Coverage(why=f"{run.loss.name} holds no history")
    if begins > 1:
        return Coverage(why=f"the history begins at step {begins:,}")
    return Coverage(last_step=ends, why=f"the history ends at step {ends:,}")


def own_checkpoints(run: RunDirectory, n_params: int | None) -> Inventory:
    """The run's checkpoints by ascending step; whatever else has such a name is skipped.

    `n_params` is the model's; `None` (a foreign trainer) takes the header's word for it.
    """
    return covered_by(list_checkpoints(run.path, n_params), coverage_of(run, n_params))


def covered_by(inventory: Inventory, coverage: Coverage) -> Inventory:
    """The same with the files skipped that the history doesn't cover."""
    known = inventory.checkpoints
    n_own = bisect_right(known, coverage.last_step, key=lambda checkpoint: checkpoint.step)
    own, beyond = known[:n_own], known[n_own:]
    skipped = (*inventory.skipped, *(Skipped(path=c.path, reason=coverage.why) for c in beyond))
    by_name = sorted(skipped, key=lambda skip: skip.path.name)
    return Inventory(checkpoints=own, skipped=tuple(by_name), uncovered=beyond)


def require_history(run: RunDirectory, inventory: Inventory) -> None:
    """Raise `HistoryError` where the history of the run's checkpoints was lost, or `OSError`."""
    if lost := what_history_lost(run, inventory):
        load_records(run.loss)  # says more of a file that is laid out in another way
        raise HistoryError(f"{run.loss}: {lost}")


def require_steps(path: Path, steps: Steps, step: int, checkpoints: Sequence[Checkpoint]) -> None:
    """Raise `HistoryError` unless the ascending `steps` of the history hold all from 1 to `step`.

    With the newest of the `checkpoints` (by ascending step) that they do cover.
    """
    if has_all_to(step, steps):
        return
    known = set(steps)
    missing = [number for number in range(1, step + 1) if number not in known]
    covered = [checkpoint for checkpoint in checkpoints if checkpoint.step < missing[0]]
    newer = checkpoints[len(covered) :]
    raise HistoryError(
        f"{path}: the newest checkpoint is of step {step:,}, but the history has no record"
        f" of step {missing[0]:,} ({len(missing):,} missing); restore it from a backup."
        + how_to_go_on(covered, newer)
    )


def require_as_audited(run: RunDirectory, checkpoint: Checkpoint) -> None:
    """Raise `HistoryError` for a file whose bytes no audit of its name tells of, where one does.

    Reads the file: for whoever is about to train on it. Raises `OSError`.
    """
    name = checkpoint.path.name
    told = {str(a.get("sha256")) for a in all_audits(run) if a.get("checkpoint") == name}
    if told and digest_of(checkpoint.path) not in told:
        raise HistoryError(
            f"{checkpoint.path}: is not the checkpoint that was audited by this name, but another"
            " file of its size, or a damaged one; put it back from a backup, or move it away to"
            " resume from the checkpoint before it (andrea-console verify checks them all)"
        )


def has_all_to(step: int, steps: Steps) -> bool:
    """Whether the ascending `steps` hold all from 1 to `step`."""
    return bisect_right(steps, step) - bisect_left(steps, 1) == step


def what_history_lost(run: RunDirectory, inventory: Inventory) -> str:
    """Which checkpoints of the run its history lost, and what to do; empty if it lost none.

    Files of another run beside the run's own are none of them. One that was audited is this run's;
    and where none at all is covered, going on would begin the run anew. Raises `OSError`, or
    `HistoryError` for audits that can't be read.
    """
    covered, lost = inventory.checkpoints, inventory.uncovered
    if covered and lost:
        audited = _audited_names(run)
        lost = tuple(checkpoint for checkpoint in lost if checkpoint.path.name in audited)
    if not lost:
        return ""
    return (
        f"{inventory.why_uncovered}, but there is a checkpoint of step {lost[-1].step:,};"
        f" restore it from a backup.{how_to_go_on(covered, lost)}"
    )


def how_to_go_on(covered: Sequence[Checkpoint], newer: Sequence[Checkpoint]) -> str:
    """What to type where there is no backup of the history: all that is newer is put aside."""
    if not covered and not newer:
        return " It covers no checkpoint at all"
    if not covered:
        return f" Without one, {how_to_give_up(newer[-1].path.parent)}"
    newest = covered[-1]
    if not newer:
        return ""
    aside = f"after_{newest.path.stem}"
    names = " ".join(checkpoint.path.name for checkpoint in newer)
    directory = quoted(newest.path.parent.absolute())
    return (
        f" Without one, go on from {newest.path.name}, the newest checkpoint that it covers:"
        f" `cd {directory} && mkdir {aside} && mv {names} {aside}/`, then start again;"
        f" the steps after {newest.step:,} are trained again, and nothing is deleted"
    )


def how_to_give_up(path: Path) -> str:
    """What to type where no checkpoint is covered, and there is no backup."""
    return (
        f"`andrea-console verify {quoted(path.absolute())} --give-up-history` lets the next start"
        " go on from the newest checkpoint: its weights are kept; the steps without a record count"
        " for nothing, so that the sources give their text again"
    )


def _audited_names(run: RunDirectory) -> set[str]:
    """Names of the checkpoints that this run's audits tell of, in all phases."""
    return {str(record.get("checkpoint")) for record in all_audits(run)}
