"""Runs to look at, and scripted trainers that are gone after the test."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.process.launch import LaunchedTrainer, launch_trainer
from tests.waiting import wait_for
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.layout import RunDirectory

os.environ["TZ"] = "UTC"  # what is on a screen is the same on every machine
time.tzset()

SCRIPTED_TRAINER = Path(__file__).with_name("scripted_trainer.py")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A new run of the preset demo."""
    return ensure_run(tmp_path / "r1")[0]


Start = Callable[..., LaunchedTrainer]


@pytest.fixture
def start(run: RunDirectory) -> Iterator[Start]:
    """Starts scripted trainers in `run` (as foreign commands) that are ready when it returns."""
    launched: list[LaunchedTrainer] = []

    def start_one(*options: str, ready: bool = True) -> LaunchedTrainer:
        command = [sys.executable, str(SCRIPTED_TRAINER), *options, str(run.path)]
        said = run.log.read_bytes().count(b"ready\n") if run.log.exists() else 0
        launched.append(launch_trainer(run, command))
        if ready:
            wait_for(lambda: run.log.read_bytes().count(b"ready\n") > said, "ready")
        return launched[-1]

    yield start_one
    for trainer in launched:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(trainer.pid, signal.SIGKILL)
        trainer.process.wait()
