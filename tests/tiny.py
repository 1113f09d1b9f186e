"""A run so small that it trains in milliseconds: real sources, real files, 20,000 weights."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch

import trainer.loop
from trainer.cli import first_state, start
from trainer.loop import Training
from trainer.persistence.reporter import Reporter
from trainer.rundir.config.continuity import state_left_behind
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit
from trainer.signals import Signals

ROOT = Path(__file__).parents[1]

torch.set_num_threads(1)  # of several, most of the time of so small a model is waiting

_TOML = """
rules = {rules}
seed = 7
[model]
vocab_size = 300
context = 16
layers = 2
heads = 2
width = 16
[train]
total_steps = {total_steps}
batch_tokens = 64
micro_batch = 2
device = "cpu"
[optimizer]
lr = 3e-3
min_lr = 3e-4
warmup_steps = 4
[checkpoint]
every = {every}
[audit]
tokens = 24
threshold = {threshold}
patience = {patience}
"""

_WORDS = [
    "a",
    "run",
    "step",
    "model",
    "trains",
    "on",
    "text",
    "of",
    "many",
    "kinds",
    "until",
    "end",
]


def make_tiny_run(
    path: Path,
    *,
    total_steps: int = 16,
    every: int = 8,
    threshold: float = 0.0,
    patience: int = 0,
    sources: Mapping[str, int] | None = None,
    rules: int = 1,
) -> RunDirectory:
    """A run with sources of so many generated paragraphs: `large` and a `small` of few rows."""
    path.mkdir(parents=True)
    text = _TOML.format(
        total_steps=total_steps, every=every, threshold=threshold, patience=patience, rules=rules
    )
    for name, paragraphs in (sources or {"large": 300, "small": 12}).items():
        file = path.parent / f"{path.name}-{name}.jsonl"
        # the text depends on the source's name only, so that two runs can be compared
        write_paragraphs(file, name, paragraphs)
        text += f'[sources.{name}]\npath = "{file}"\n[policy.{name}]\nfloor = 0.1\ncap = 2.0\n'
    run = RunDirectory(path)
    run.settings.write_text(text)
    return run


def write_paragraphs(file: Path, seed: str, paragraphs: int) -> None:
    """JSON lines of generated sentences."""
    chance = random.Random(seed)
    lines = [" ".join(chance.choices(_WORDS, k=20)) + f" {n}." for n in range(paragraphs)]
    file.write_bytes(b"".join(orjson.dumps({"text": line}) + b"\n" for line in lines))


Script = Mapping[int, Callable[[Training], object]]


def train_here(
    run: RunDirectory,
    script: Script | None = None,
    *,
    signals: Signals | None = None,
    until: int | None = None,
) -> Exit:
    """Train in this process up to an end; `script` acts just after the step it names.

    A scripted action may raise to play a crash: nothing is saved then.
    """
    signals = signals or Signals()
    before = state_left_behind(run)
    reporter = Reporter(run.state, first_state(run, before))
    real_step = trainer.loop.take_step

    def scripted_step(training: Training) -> None:
        real_step(training)
        action = (script or {}).get(training.engine.step)
        if action:
            action(training)

    lock = TrainerLock(run.lock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer.loop, "take_step", scripted_step)
        try:
            return start(run, before, reporter, signals, until=until)
        finally:
            lock.release()


def ask_stop(training: Training) -> None:
    """What SIGTERM's handler does."""
    training.signals.on_stop(signal.SIGTERM, None)


def ask_checkpoint(training: Training) -> None:
    """What SIGUSR1's handler does."""
    training.signals.on_checkpoint(signal.SIGUSR1, None)


class Crashed(BaseException):
    """Plays a process that ends without a word: nothing that catches an `Exception` sees it."""


def crash(training: Training) -> None:
    raise Crashed


def start_trainer(run: RunDirectory, *arguments: str) -> subprocess.Popen[bytes]:
    """A real trainer process in its own session, its output in trainer.log."""
    with run.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "trainer", str(run.path), *arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def strict_json(path: Path) -> list[dict[str, Any]]:
    """The records of an array, by a strict parser."""
    records: list[dict[str, Any]] = orjson.loads(path.read_bytes())
    return records


TIMELESS = ("step", "arm", "loss", "ema", "lr", "grad_norm", "reward", "tokens", "phase")


def timeless(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What of loss records must be equal in a straight and an interrupted run."""
    return [tuple(record[key] for key in TIMELESS) for record in records]
