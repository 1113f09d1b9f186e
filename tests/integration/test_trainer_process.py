"""A real trainer process under real signals, in each of its phases."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tiny import ROOT, make_tiny_run, start_trainer, strict_json
from tests.waiting import comes_true
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import LOCK_VARIABLE, TrainerLock, holder_of
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.record_file import RecordTail
from trainer.rundir.state import State, read_state

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts trainers, and kills those that are left at the end."""
    started = []

    def start_one(run: RunDirectory, *arguments: str) -> subprocess.Popen[bytes]:
        started.append(start_trainer(run, *arguments))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.wait()


def wait_until(fact: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a fact, if only for a moment; the trainer's end before it is a failure."""
    was_so = False

    def is_over() -> bool:
        nonlocal was_so
        was_so = fact()
        return was_so or process.poll() is not None

    comes_true(is_over, 60)
    if not was_so and not fact():
        pytest.fail(f"exit {process.returncode} before the fact:\n{log.read_text()}")


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def wait_for_steps(run: RunDirectory, process: subprocess.Popen[bytes], steps: int) -> None:
    tail = RecordTail(run.loss)
    seen = []

    def has_steps() -> bool:
        seen.extend(tail.look().records)
        return len(seen) >= steps

    wait_until(has_steps, process, run.log)


def assert_stopped_well(run: RunDirectory) -> None:
    """The newest checkpoint is of the last record, and each checkpoint has one audit."""
    steps = [checkpoint.step for checkpoint in list_checkpoints(run.path, None).checkpoints]
    assert steps[-1] == strict_json(run.loss)[-1]["step"]
    assert [sample["step"] for sample in strict_json(run.samples)] == steps


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, Exit.TERMINATED), (signal.SIGINT, Exit.INTERRUPTED)],
)
def test_stop_signal_while_training_saves_audits_and_exits(
    number: int, code: Exit, tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 3)
    process.send_signal(number)
    assert process.wait(60) == code
    assert_stopped_well(run)
    state = state_of(run)
    assert (state.doing, state.exit_code) == ("stopped", code)


def test_sigterm_to_the_whole_group_is_one_graceful_stop(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 3)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)


def test_sigusr1_writes_a_checkpoint_with_its_audit_and_training_goes_on(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 3)
    process.send_signal(signal.SIGUSR1)

    def is_answered() -> bool:
        save = state_of(run).last_save
        return save is not None and save.requests > 0

    wait_until(is_answered, process, run.log)
    wait_for_steps(run, process, strict_json_when_still(run) + 5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert [sample["cause"] for sample in strict_json(run.samples)] == ["signal", "stop"]
    assert_stopped_well(run)


def strict_json_when_still(run: RunDirectory) -> int:
    """Records so far, by a reader that may race the writer."""
    return len(RecordTail(run.loss).look().records)


def test_sigterm_while_loading_ends_in_order_and_leaves_nothing_half_made(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run")
    process = start(run)
    wait_until(lambda: state_of(run).takes_signals, process, run.log)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert list_checkpoints(run.path, None).checkpoints == ()
    assert [path.name for path in run.path.rglob("*.partial*")] == []
    assert start(run).wait(60) == Exit.FINISHED


def test_sigterm_while_sampling_keeps_the_checkpoint_and_ends_the_audit(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=64, every=8)
    run.settings.write_text(run.settings.read_text().replace("tokens = 24", "tokens = 3000"))
    process = start(run)
    wait_until(lambda: state_of(run).doing == "sampling", process, run.log)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)


def test_second_sigterm_skips_the_audit_and_the_next_start_makes_it(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=8)
    text = run.settings.read_text()
    run.settings.write_text(text.replace("tokens = 24", "tokens = 200000"))
    process = start(run)
    wait_until(lambda: state_of(run).doing == "sampling", process, run.log)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (Exit.TERMINATED, Exit.INTERRUPTED)
    assert strict_json(run.samples) == []
    run.settings.write_text(text)
    assert start(run).wait(60) == Exit.FINISHED
    assert [sample["step"] for sample in strict_json(run.samples)] == [8, 16]
    assert strict_json(run.samples)[0]["cause"] == "owed"


def test_stop_is_told_while_it_saves_and_audits(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    text = run.settings.read_text()
    run.settings.write_text(text.replace("tokens = 24", "tokens = 200000"))
    process = start(run)
    wait_for_steps(run, process, 3)
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: state_of(run).detail.startswith("audit of step"), process, run.log)
    assert state_of(run).doing == "stopping"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED


def test_sighup_is_ignored(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 2)
    process.send_signal(signal.SIGHUP)
    wait_for_steps(run, process, strict_json_when_still(run) + 20)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED


def test_second_trainer_is_refused_and_harms_nothing(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 2)
    second = subprocess.run(
        start_command(run), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert second.returncode == Exit.LOCKED
    assert f"another trainer holds this run (pid {process.pid}" in second.stderr
    holder = holder_of(run.lock)
    assert holder is not None
    assert holder.pid == process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED


def start_command(run: RunDirectory) -> list[str]:
    return [sys.executable, "-m", "trainer", str(run.path)]


def test_killed_trainer_resumes_by_the_same_command(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=60, every=20)
    process = start(run)
    wait_for_steps(run, process, 25)
    process.kill()
    process.wait()
    assert start(run).wait(60) == Exit.FINISHED
    assert [record["step"] for record in strict_json(run.loss)] == list(range(1, 61))
    assert_stopped_well(run)


def test_trainer_without_its_run_directory_is_a_usage_error(tmp_path: Path) -> None:
    missing = RunDirectory(tmp_path / "none")
    result = subprocess.run(
        start_command(missing), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.returncode == Exit.USAGE
    assert "--preset" in result.stderr
    assert not missing.path.exists()


def test_trainer_behind_a_wrapper_takes_over_the_launchers_lock(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run")
    lock = TrainerLock(run.lock, pid=0)
    process = subprocess.Popen(
        ["nice", *start_command(run)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", LOCK_VARIABLE: str(lock.fileno())},
        pass_fds=[lock.fileno()],
        stdout=subprocess.DEVNULL,
    )
    lock.release()
    try:
        wait_until(lambda: state_of(run).takes_signals, process, run.settings)
        holder = holder_of(run.lock)
        assert holder is not None
        assert holder.pid == process.pid
        assert process.wait(60) == Exit.FINISHED
    finally:
        process.kill()
        process.wait()
