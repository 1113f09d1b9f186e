"""Pivots on files, walked and taken back without a trainer, with their file operations recorded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.crash.recording import Killed, Operation, Recorder
from trainer.persistence.loss_history import LossHistory
from trainer.rundir.checkpoints.checkpoint import list_checkpoints, write_checkpoint
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.pivot.journal import STAGES, HoldMode, Pivot, Stage, read_pivot, request_pivot
from trainer.rundir.pivot.stages import (
    archive,
    commit,
    finish,
    first_record,
    hold,
    restart,
    roll_back,
)
from trainer.rundir.records.record_file import Record, RecordArray
from trainer.rundir.state import State, write_state

OLD = 'preset = "demo"\n[sources.docs]\npath = "python:docs"\n'
NEW = f"{OLD}[policy.docs]\ncap = 0.5\n"
STEP = 4
"""Of the checkpoint that the new phase resumes from."""
_T = 1.0
"""The wall clock stands still, so that equal states have equal bytes."""

FINISHED = len(STAGES) + 1
FORGOTTEN = -1
"""What a caller was promised, as a `Durable` says it: so many stages are reached; 0: nothing."""

Promise = Callable[[int], None]


def make_run(path: Path) -> RunDirectory:
    """A run at its checkpoint, everything durable, with an audit and a bandit."""
    run = RunDirectory(path)
    path.mkdir()
    run.settings.write_text(OLD)
    losses = RecordArray(run.loss)
    for step in range(1, STEP + 1):
        losses.append(_record(step, phase=1))
    losses.close()
    samples = RecordArray(run.samples)
    samples.append({"step": STEP, "checkpoint": "step_000004.bin", "score": 61.0})
    samples.close()
    run.state.write_bytes(b'{"arms": {"docs": {"weight": 1.546}}}\n')
    write_checkpoint(path, STEP, [memoryview(bytes([n] * 8)).cast("B") for n in range(3)])
    return run


def _record(step: int, *, phase: int) -> Record:
    exact = {"loss": phase + 1.0 / step, "grad_norm": 1.0, "ema": 2.0}
    return {"step": step, "phase": phase, "attempt": phase, **exact}


def train_a_step(run: RunDirectory, phase: int) -> None:
    """One step after the checkpoint, by a trainer that then is killed: nothing is synced."""
    remove_leftovers(run)
    if phase > 1:  # the old phase's is durable, so that it is known what has to come back
        write_state(run.state, State(phase=phase))
    history = LossHistory(run.loss, STEP)
    history.record(_record(STEP + 1, phase=phase))
    history.close()


def start_in_vain(run: RunDirectory) -> None:
    """A trainer of the new phase that fails before its first step."""
    write_state(run.state, State(phase=2))
    RecordArray(run.samples).close()


def request(run: RunDirectory, promise: Promise) -> None:
    request_pivot(run, NEW, mode=HoldMode.NOW, note="why", step=STEP, t=_T)
    promise(1)


def go_on(run: RunDirectory, promise: Promise, last: Stage | None = None) -> None:
    """What the driver does on files, from whatever the journal says: to `last`, or to the end."""
    for pivot in _walk(run, promise):
        if pivot.stage is last:
            return


def _walk(run: RunDirectory, promise: Promise) -> Iterator[Pivot]:
    pivot = read_pivot(run.pivot)
    if pivot is None:
        return
    newest = list_checkpoints(run.path, None).newest
    assert newest is not None
    acts: dict[Stage, Callable[[Pivot], Pivot]] = {
        Stage.REQUESTED: lambda pivot: hold(run, pivot, newest, _T),
        Stage.HELD: lambda pivot: archive(run, pivot, _T),
        Stage.ARCHIVED: lambda pivot: commit(run, pivot, _T),
        Stage.COMMITTED: lambda pivot: restart(run, pivot, _T),
    }
    yield pivot
    while pivot.stage in acts:
        pivot = acts[pivot.stage](pivot)
        promise(STAGES.index(pivot.stage) + 1)
        yield pivot
    if first_record(run, pivot) is None:
        train_a_step(run, 2)
    first = first_record(run, pivot)
    assert first is not None
    finish(run, pivot, first, _T)
    promise(FINISHED)


def go_back(run: RunDirectory, promise: Promise) -> None:
    """Take the pivot back; `HistoryError` where the new phase has a step."""
    pivot = read_pivot(run.pivot)
    if pivot is not None:
        promise(0)
        roll_back(run, pivot, _T)
        promise(FORGOTTEN)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A pivot's file operations."""

    trace: list[Operation]
    adopted: int
    """The number of operations that stand for what was there before."""
    begins: int
    """The number of operations before the part that is of interest."""


def record_pivot(
    path: Path,
    *,
    back_from: Stage | None = None,
    is_vain: bool = False,
    kill_after: int | None = None,
    then: Callable[[RunDirectory, Promise], None] = go_on,
) -> Recorded:
    """Walk a pivot to its end, or to `back_from` and back; killed after so many operations of
    its own, what comes `then` is recorded.
    """
    run = make_run(path)
    recorder = Recorder(run.path)
    with recorder.recording():
        adopted = begins = len(recorder.trace)
        if kill_after is not None:
            recorder.kill_after(adopted + kill_after)
        try:
            train_a_step(run, 1)
            request(run, recorder.durable)
            go_on(run, recorder.durable, back_from)
            if back_from is not None:
                if is_vain:
                    start_in_vain(run)
                begins = len(recorder.trace)
                go_back(run, recorder.durable)
        except Killed:
            begins = len(recorder.trace)
            try:
                then(run, recorder.durable)
            except HistoryError:  # refused, for the new phase has a step
                go_on(run, recorder.durable)
    return Recorded(trace=recorder.trace, adopted=adopted, begins=begins)
