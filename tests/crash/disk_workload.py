"""What is done on a disk whose power is cut, and what must be there afterwards."""

import ctypes
import gc
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.crash.checking import check_start, lay_out, train_to_the_end
from tests.crash.pivot_states import PivotExplorer
from tests.crash.pivots import go_back, go_on, make_run, request, train_a_step
from tests.crash.states import read_tree
from tests.crash.workload import MILESTONE, PINNED, Truth, make_small_run, train_through_a_crash
from tests.tiny import strict_json
from trainer.persistence.checkpoints import Checkpointer
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import STAGES, Stage
from trainer.rundir.records.record_lines import Record

Tell = Callable[[str, int], None]
"""Called with a run's name and what has just been promised of it."""

_THINS = {"all kept": False, "thinned": True}
_BACK_FROM: Mapping[str, Stage | None] = {
    "pivot": None,
    **{f"pivot back from {stage.value}": stage for stage in STAGES},
}
_AUDITS = " audits"
_SEEN_IN_AUDIT = ("step", "checkpoint", "bytes", "sha256", "text", "score", "val_loss")
_WRITES = ("write", "pwrite", "rename", "replace", "link", "unlink")


def make_runs(directory: Path) -> None:
    for name, thins in _THINS.items():
        make_small_run(directory / name, thins=thins)
    for name in _BACK_FROM:
        make_run(directory / name)


def use_runs(directory: Path, tell: Tell) -> None:
    """Train with saves, thinning, a crash and a second start; pivot straight on and back."""
    for name in _THINS:
        with _audits_told(partial(tell, name + _AUDITS)):
            train_through_a_crash(RunDirectory(directory / name), partial(tell, name))
    for name, back_from in _BACK_FROM.items():
        run, promise = RunDirectory(directory / name), partial(tell, name)
        train_a_step(run, 1)
        request(run, promise)
        go_on(run, promise, back_from)
        if back_from is not None:
            go_back(run, promise)
    gc.collect()  # the trainers' mapped tokens: a file system in use can't be unmounted


@contextmanager
def _audits_told(promise: Callable[[int], None]) -> Iterator[None]:
    real = Checkpointer._write_audit

    def told(checkpointer: Checkpointer, record: Record) -> None:
        real(checkpointer, record)
        promise(record["step"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpointer, "_write_audit", told)
        yield


@contextmanager
def written_back_at_times(directory: Path, chance: random.Random) -> Iterator[None]:
    """Have the file system write back all it has after a drawn one in 64 changes: as it does
    every few seconds, whatever the trainer asks for.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            result = real(*arguments, **options)
            if chance.random() < 1 / 64:
                libc.syncfs(fd)
            return result

        return call

    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in _WRITES:
                patch.setattr(os, name, wrapped(getattr(os, name)))
            yield
    finally:
        os.close(fd)


@contextmanager
def without_fsync() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, lambda fd: None)
        yield


class Checker:
    """Puts what a power cut left to the next start."""

    def __init__(self, scratch: Path, truth: Truth) -> None:
        """`scratch`: a directory that is there and empty."""
        self._truth = truth
        self._audits = {record["step"]: _seen(record) for record in strict_json(truth.run.samples)}
        self._pivots = PivotExplorer(scratch, at_most=0)
        self._copy = make_small_run(scratch / "training")

    def losses(self, directory: Path, promised: Mapping[str, Sequence[int]]) -> list[str]:
        """What is not as it was promised of the runs in the directory, in words."""
        found = []
        with without_fsync():  # no crash comes while this is checked
            for name in (*_THINS, *_BACK_FROM):
                try:
                    if name in _THINS:
                        self._check_training(directory, name, promised)
                    else:
                        self._check_pivot(directory / name, promised.get(name, (0,))[-1])
                except (AssertionError, RunError, OSError, ValueError, LookupError) as error:
                    found.append(f"{name}: {type(error).__name__}: {error}")
        gc.collect()  # as above
        return found

    def _check_pivot(self, path: Path, promised: int) -> None:
        failures = self._pivots.failures_of(read_tree(path), promised)
        assert not failures, "; ".join(failures)

    def _check_training(
        self, directory: Path, name: str, promised: Mapping[str, Sequence[int]]
    ) -> None:
        run, steps = RunDirectory(directory / name), promised.get(name, ())
        kept = [s for s in steps if not _THINS[name] or s % MILESTONE == 0 or s == PINNED]
        self._check_kept(run, kept)
        audits = promised.get(name + _AUDITS, ())
        lay_out(read_tree(run.path, ignored=run.tokens.name), self._copy)
        check_start(self._copy, self._truth, durable_step=max(steps, default=0))
        self._check_audits(self._copy, audits)
        train_to_the_end(run, self._truth)
        self._check_kept(run, kept)
        self._check_audits(run, audits)

    def _check_kept(self, run: RunDirectory, steps: Sequence[int]) -> None:
        there = {found.step for found in list_checkpoints(run.path, None).checkpoints}
        gone = [step for step in steps if step not in there]
        assert not gone, f"the checkpoints of these steps were written, and are gone: {gone}"

    def _check_audits(self, run: RunDirectory, steps: Sequence[int]) -> None:
        there = {record["step"]: _seen(record) for record in strict_json(run.samples)}
        for step in steps:
            assert there.get(step) == self._audits[step], f"the audit of step {step} is lost"


def _seen(record: Record) -> list[object]:
    return [record[key] for key in _SEEN_IN_AUDIT]
