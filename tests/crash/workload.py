"""A real training whose file operations are recorded, and what every state of it must give."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.recording import Operation, Recorder
from tests.tiny import Crashed, ask_checkpoint, crash, make_tiny_run, strict_json, train_here
from trainer.rundir.checkpoints.checkpoint import Written, write_chunks
from trainer.rundir.checkpoints.pins import pin
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit

N_PARAMS = 2_656
MILESTONE = 6
"""Of a run that thins: checkpoints of multiples of this step are kept."""
PINNED = 3
"""The step that is pinned while such a run trains, and that its settings let go."""
_SMALLER = {"layers = 2": "layers = 1", "heads = 2": "heads = 1", "width = 16": "width = 4"}


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A run that nothing ever disturbed."""

    run: RunDirectory
    records: Mapping[int, dict[str, Any]]
    checkpoints: Mapping[int, bytes]
    """Step → bytes, of every step."""


def make_small_run(path: Path, *, every: int = 3, thins: bool = False) -> RunDirectory:
    """Checkpoints of 32 KB: states of them are cheap to build."""
    run = make_tiny_run(path, total_steps=13, every=every, sources={"large": 300, "small": 12})
    text = run.settings.read_text()
    for before, after in _SMALLER.items():
        text = text.replace(before, after)
    if thins:
        text = text.replace(
            "[checkpoint]", f"[checkpoint]\nkeep_last = 1\nkeep_every = {MILESTONE}"
        )
    run.settings.write_text(text)
    return run


def make_truth(path: Path) -> Truth:
    run = make_small_run(path, every=1)
    assert train_here(run) is Exit.FINISHED
    return load_truth(path)


def load_truth(path: Path) -> Truth:
    run = RunDirectory(path)
    return Truth(
        run=run,
        records={record["step"]: record for record in strict_json(run.loss)},
        checkpoints={
            int(file.name[5:11]): file.read_bytes() for file in run.path.glob("step_*.bin")
        },
    )


def make_prepared_run(path: Path, truth: Truth, *, thins: bool = False) -> RunDirectory:
    """A small run that has its tokens already: they are no part of what is recorded."""
    run = make_small_run(path, thins=thins)
    shutil.copytree(truth.run.tokens, run.tokens)
    shutil.copyfile(truth.run.tokenizer, run.tokenizer)
    return run


def record_training(path: Path, truth: Truth, *, thins: bool) -> list[Operation]:
    """The file operations of `train_through_a_crash`, with its promises."""
    run = make_prepared_run(path, truth, thins=thins)
    recorder = Recorder(run.path, ignored=(run.tokens.name,))
    with recorder.recording():
        train_through_a_crash(run, recorder.durable)
    return recorder.trace


def train_through_a_crash(run: RunDirectory, promise: Callable[[int], None]) -> None:
    """A first start with saves by cadence and on request, and a pin, a crash, a second start to
    the end.

    `promise` is called with each step whose checkpoint the trainer has just been told is safe.
    """
    with promising(promise):
        with pytest.raises(Crashed):
            train_here(run, {2: lambda _: pin(run, PINNED, "a note"), 4: ask_checkpoint, 8: crash})
        assert train_here(run) is Exit.FINISHED


@contextmanager
def promising(promise: Callable[[int], None]) -> Iterator[None]:
    """Within, `promise` is called with each step whose checkpoint the trainer was told is safe."""

    def promised(directory: Path, step: int, *rest: Any) -> Written:
        written = write_chunks(directory, step, *rest)
        promise(step)
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainer.persistence.background_save.write_chunks", promised)
        yield
