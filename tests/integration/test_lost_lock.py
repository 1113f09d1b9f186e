"""The lock can't be lost by its name: one trainer a run, whatever becomes of `trainer.lock`."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.test_trainer_process import (
    Start,
    assert_stopped_well,
    start,
    start_command,
    state_of,
    wait_for_steps,
    wait_until,
)
from tests.tiny import ROOT, make_tiny_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock, holder_of
from trainer.rundir.outcomes import Exit, LockedError

__all__ = ["start"]


def remove(lock: Path) -> None:
    lock.unlink()


def copy_and_move_back(lock: Path) -> None:
    shutil.copy(lock, lock.with_name("x"))
    lock.with_name("x").replace(lock)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)


def pid_of_holder(run: RunDirectory) -> int:
    try:
        holder = holder_of(run.lock)
    except OSError:
        return 0
    return holder.pid if holder else 0


@pytest.mark.parametrize("lose", [remove, copy_and_move_back])
def test_a_lost_lock_is_put_back_and_told_of(
    run: RunDirectory, start: Start, lose: Callable[[Path], None]
) -> None:
    process = start(run)
    wait_for_steps(run, process, 3)
    lose(run.lock)
    wait_until(lambda: pid_of_holder(run) == process.pid, process, run.log)
    wait_until(lambda: bool(state_of(run).alarms), process, run.log)
    assert state_of(run).alarms[0].startswith("lock lost: trainer.lock ")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)


def test_a_second_trainer_is_refused_while_the_lock_has_no_name(
    run: RunDirectory, start: Start
) -> None:
    process = start(run)
    wait_for_steps(run, process, 3)
    process.send_signal(signal.SIGSTOP)  # it can't put the lock back
    run.lock.unlink()
    holder = holder_of(run.lock)
    assert holder is not None
    assert holder.pid == 0
    second = subprocess.run(
        start_command(run), capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert second.returncode == Exit.LOCKED
    assert "another trainer holds this run" in second.stderr
    assert run.lock.exists()
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: pid_of_holder(run) == process.pid, process, run.log)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)


def test_a_trainer_whose_run_another_one_has_locked_saves_and_ends_in_words(
    run: RunDirectory, start: Start
) -> None:
    process = start(run)
    wait_for_steps(run, process, 3)
    process.send_signal(signal.SIGSTOP)
    run.lock.rename(run.lock.with_name("lock.old"))
    other = os.fork()
    if not other:  # one that knows nothing of a lock on the directory: of the version before
        _lock_as_before(run.lock)
    wait_until(lambda: run.lock.exists() and pid_of_holder(run) == 1, process, run.log)
    process.send_signal(signal.SIGCONT)
    try:
        assert process.wait(60) == Exit.LOCKED
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    assert "another trainer has locked a new one" in run.log.read_text()
    assert_stopped_well(run)


def _lock_as_before(path: Path) -> None:
    import fcntl  # noqa: PLC0415
    import struct  # noqa: PLC0415

    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        os.write(fd, b'{"pid":1,"start_time":1,"host":"h","boot_id":"b"}\n')
        signal.pause()
    finally:
        os._exit(1)


def test_a_launched_child_holds_the_directory_too(run: RunDirectory) -> None:
    lock = TrainerLock(run.lock, pid=0)
    child = subprocess.Popen(["sleep", "60"], pass_fds=lock.descriptors)
    lock.release()
    try:
        run.lock.unlink()
        with pytest.raises(LockedError):
            TrainerLock(run.lock)
    finally:
        child.kill()
        child.wait()
    TrainerLock(run.lock).release()
