"""Putting a directory that a crash left to what the next start reads, and to the start."""

import shutil

import orjson

from tests.crash.states import Directory
from tests.crash.workload import N_PARAMS, Truth
from tests.tiny import TIMELESS, train_here
from trainer.persistence.loss_history import LossHistory
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.pins import pinned_steps
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.record_file import RecordArray, load_records
from trainer.rundir.records.record_lines import Record
from trainer.rundir.state import State, read_state


def lay_out(state: Directory, run: RunDirectory) -> None:
    """Make the run's files those of the state; `tokens/` stays."""
    run.path.mkdir(exist_ok=True)
    for path in run.path.iterdir():
        if path.is_file():
            path.unlink()
        elif path != run.tokens:
            shutil.rmtree(path)
    for name in state:
        if name.endswith("/"):
            (run.path / name).mkdir(parents=True, exist_ok=True)
    for name, data in state.items():
        if not name.endswith("/"):
            (run.path / name).write_bytes(data)


def check_start(run: RunDirectory, truth: Truth, *, durable_step: int) -> None:
    """Assert what is promised of every crash: no checkpoint that was safe is lost, what is taken
    for one is whole, the history covers it and is strict, and what was cut is told and kept.
    """
    remove_leftovers(run)
    assert not list(run.path.glob(".*.partial")), "a temporary file stays"
    inventory = list_checkpoints(run.path, N_PARAMS)
    assert not inventory.skipped, f"a final name without a checkpoint: {inventory.skipped}"
    newest = inventory.newest.step if inventory.newest else 0
    assert newest >= durable_step, f"step {durable_step} was durable, the newest is {newest}"
    there = {found.step for found in inventory.checkpoints}
    assert {step for step in pinned_steps(run) if step <= durable_step} <= there, "thinned a pin"
    for found in inventory.checkpoints:
        assert found.path.read_bytes() == truth.checkpoints[found.step], f"{found.path.name}"
    _check_history(run, truth, newest)
    _check_samples(run, newest)
    assert isinstance(read_state(run.state), State | None)


def train_to_the_end(run: RunDirectory, truth: Truth) -> None:
    """Start the trainer on what a crash left; its last checkpoint is that of an undisturbed run."""
    assert train_here(run) is Exit.FINISHED
    last = max(truth.checkpoints)
    assert (run.path / f"step_{last:06d}.bin").read_bytes() == truth.checkpoints[last]
    check_start(run, truth, durable_step=last)


def _check_history(run: RunDirectory, truth: Truth, newest: int) -> None:
    before = load_records(run.loss)
    torn = run.loss.read_bytes()[before.end :] if run.loss.exists() else b""
    history = LossHistory(run.loss, newest)
    history.close()
    written = orjson.loads(run.loss.read_bytes())
    assert [record["step"] for record in written] == list(range(1, len(written) + 1))
    assert len(written) >= newest
    for record in written:
        assert _timeless(record) == _timeless(truth.records[record["step"]])
    if torn.strip(b"[], \r\n"):
        assert history.repair is not None, "torn bytes were cut and not told"
        assert history.repair.kept_as.read_bytes() == torn


def _check_samples(run: RunDirectory, newest: int) -> None:
    samples = RecordArray(run.samples)
    samples.close()
    steps = [record["step"] for record in orjson.loads(run.samples.read_bytes())]
    assert steps == sorted(set(steps))
    assert max(steps, default=0) <= newest, "an audit outlives its checkpoint"


def _timeless(record: Record) -> list[object]:
    return [record[key] for key in TIMELESS]
