"""The trainer's lines for a person: where they can't be written, the run goes on without them."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.test_trainer_process import (
    assert_stopped_well,
    state_of,
    wait_for_steps,
    wait_until,
)
from tests.tiny import ROOT, make_tiny_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit


@contextmanager
def trainer_that_writes_to(fd: int, run: RunDirectory) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", str(run.path)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=fd,
        stderr=fd,
        start_new_session=True,
    )
    os.close(fd)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_log_on_a_full_disk_does_not_end_the_run(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    with trainer_that_writes_to(os.open("/dev/full", os.O_WRONLY), run) as process:
        assert process.wait(60) == Exit.FINISHED
    assert state_of(run).doing == "finished"


@pytest.mark.parametrize("settings", ["seed = 'x'", ""], ids=["mistake", "no sources"])
def test_exit_code_of_a_refusal_nobody_can_read_is_still_its_own(
    settings: str, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run")
    run.settings.write_text(settings or run.settings.read_text().replace(".jsonl", ".gone"))
    with trainer_that_writes_to(os.open("/dev/full", os.O_WRONLY), run) as process:
        assert process.wait(60) == Exit.USAGE


def test_trainer_in_the_foreground_outlives_its_terminal(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=1_000_000, every=500_000)
    terminal, its_end = pty.openpty()
    with trainer_that_writes_to(its_end, run) as process:
        wait_for_steps(run, process, 3)
        os.close(terminal)
        process.send_signal(signal.SIGUSR1)  # a checkpoint is told of in a line
        wait_until(lambda: state_of(run).last_save is not None, process, run.settings)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)
