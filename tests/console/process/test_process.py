"""Starting, finding and signalling a trainer, with real processes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from console.process.launch import LaunchedTrainer, exit_words, launch_trainer
from console.process.presence import Liveness, presence_of
from console.process.signals import Ask, NotSentError, send
from tests.console.conftest import SCRIPTED_TRAINER, Start
from tests.tiny import ROOT
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock, identity_of
from trainer.rundir.outcomes import LockedError

REPORT_AND_WAIT = """
import os, pathlib, signal, sys
here = pathlib.Path(os.environ["ANDREA_RUN"])
status = pathlib.Path("/proc/self/status").read_text()
print(f"sid {os.getsid(0)} pid {os.getpid()} cwd {os.getcwd()}", status, flush=True)
print("stdin", repr(sys.stdin.read()), flush=True)
print("to stderr", file=sys.stderr, flush=True)
"""


@pytest.fixture
def own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `trainer` that reports how it was started, in place of the real one."""
    package = tmp_path / "stand-in" / "trainer"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    main = "import sys; print('argument', sys.argv[1], flush=True)\n"
    report = REPORT_AND_WAIT.replace('os.environ["ANDREA_RUN"]', "sys.argv[1]")
    (package / "__main__.py").write_text(main + report)
    monkeypatch.setattr("trainer.__file__", str(package / "__init__.py"))
    return package


def mask(log: str, name: str) -> set[int]:
    bits = int(next(line for line in log.splitlines() if line.startswith(name)).split()[1], 16)
    return {number for number in range(1, 65) if bits >> (number - 1) & 1}


def test_own_trainer_starts_in_its_session_with_signals_blocked(
    run: RunDirectory, own_package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "trainer.py").write_text("raise SystemExit('the wrong trainer')")
    monkeypatch.chdir(tmp_path)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    launched = launch_trainer(RunDirectory(Path(run.path.name)))
    assert launched.wait(20) == 0
    log = run.log.read_text()
    assert f"argument {run.path}" in log
    assert f"sid {launched.pid} pid {launched.pid} cwd {run.path}" in log
    assert {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT} <= mask(log, "SigBlk")
    assert "stdin ''" in log
    assert "to stderr" in log
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_signals_blocked_over_exec_stay_pending_and_harmless(
    run: RunDirectory, own_package: Path
) -> None:
    (own_package / "__main__.py").write_text(
        "import pathlib, signal, sys\n"
        "go = pathlib.Path(sys.argv[1], 'go')\n"
        "while not go.exists(): pass\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('took it', flush=True))\n"
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])\n"
    )
    launched = launch_trainer(run)
    for _ in range(100):
        os.kill(launched.pid, signal.SIGUSR1)
    (run.path / "go").touch()
    assert launched.wait(20) == 0
    assert "took it" in run.log.read_text()


def test_own_trainer_holds_the_run_from_its_launch_on(run: RunDirectory, own_package: Path) -> None:
    (own_package / "__main__.py").write_text("import time\nwhile True: time.sleep(60)")
    launched = launch_trainer(run)
    try:
        presence = presence_of(run)
        assert presence.liveness is Liveness.ALIVE
        assert presence.holder is not None
        assert presence.holder.pid == launched.pid
        with pytest.raises(LockedError, match=str(launched.pid)):
            launch_trainer(run)
    finally:
        launched.kill()
    assert presence_of(run).liveness is Liveness.NOBODY


def test_foreign_command_has_the_run_an_open_mask_and_the_lock(
    run: RunDirectory, tmp_path: Path
) -> None:
    hold = "import time; print('up', flush=True)\nwhile True: time.sleep(60)"
    launched = launch_trainer(run, [sys.executable, "-c", REPORT_AND_WAIT + hold])
    try:
        wait_for(lambda: "up" in run.log.read_text(), "the command's report")
        log = run.log.read_text()
        assert not {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT} & mask(log, "SigBlk")
        presence = presence_of(run)
        assert presence.liveness is Liveness.ALIVE
        assert presence.holder is not None
        assert presence.holder.pid == launched.pid
        with pytest.raises(LockedError, match=str(launched.pid)):
            launch_trainer(run, ["true"])
    finally:
        launched.process.kill()
    assert launched.wait(20) == -signal.SIGKILL
    assert presence_of(run).liveness is Liveness.NOBODY


def test_command_that_is_not_there_leaves_the_run_free(run: RunDirectory) -> None:
    with pytest.raises(FileNotFoundError):
        launch_trainer(run, ["/no/such/engine"])
    assert presence_of(run).liveness is Liveness.NOBODY


def test_killed_trainer_is_dead_though_nobody_reaped_it(run: RunDirectory, start: Start) -> None:
    launched = start()
    os.kill(launched.pid, signal.SIGKILL)
    wait_for(lambda: presence_of(run).liveness is Liveness.NOBODY, "the lock's end")
    assert launched.exit_code() == -signal.SIGKILL
    assert exit_words(-signal.SIGKILL) == "killed by SIGKILL"


def test_exit_codes_have_the_contracts_words() -> None:
    assert exit_words(143) == "stopped by SIGTERM; checkpoint written"
    assert exit_words(137) == "killed by SIGKILL"
    assert exit_words(77) == "exit code 77"


def test_checkpoint_and_stop_reach_the_holder(run: RunDirectory, start: Start) -> None:
    launched = start("--every", "1000000")
    (run.path / "pause").touch()
    send(run, Ask.CHECKPOINT)
    wait_for(lambda: list(run.path.glob("step_*.bin")), "the checkpoint asked for")
    assert send(run, Ask.STOP).pid == launched.pid
    assert launched.wait(20) == 143


def test_process_without_a_handler_is_never_signalled(run: RunDirectory) -> None:
    waiting = "print('up', flush=True)\nimport time\nwhile True: time.sleep(60)"
    launched = launch_trainer(run, [sys.executable, "-c", waiting])
    try:
        wait_for(lambda: b"up" in run.log.read_bytes(), "the process")
        for ask in Ask:
            with pytest.raises(NotSentError, match=r"does not take SIG\w+ yet"):
                send(run, ask)
        assert launched.exit_code() is None
    finally:
        launched.process.kill()
        launched.process.wait()


def test_run_without_trainer_gets_no_signal(run: RunDirectory) -> None:
    with pytest.raises(NotSentError, match="no trainer is running"):
        send(run, Ask.STOP)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that would die of any signal."""
    with subprocess.Popen(["sleep", "600"]) as other:
        yield other
        other.kill()


@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "x"}, {"host": "elsewhere"}])
def test_recycled_pid_is_never_signalled(
    run: RunDirectory, bystander: subprocess.Popen[bytes], change: dict[str, object]
) -> None:
    lock = TrainerLock(run.lock, pid=0)
    run.lock.write_bytes(orjson.dumps(orjson.loads(identity_of(bystander.pid)) | change))
    with pytest.raises(NotSentError, match=r"is dead|there\): ssh \S+ kill -s TERM"):
        send(run, Ask.STOP)
    assert bystander.poll() is None
    lock.release()


CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A pid namespace of its own, with this host's name."""

needs_namespaces = pytest.mark.skipif(
    subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode != 0,
    reason="making a pid namespace needs root, and a kernel that lets it",
)


@needs_namespaces
def test_trainer_in_a_container_is_alive_elsewhere_and_ends_by_what_the_refusal_says(
    run: RunDirectory,
) -> None:
    command = [*CONTAINER, sys.executable, str(SCRIPTED_TRAINER), "--every", "1000000"]
    with subprocess.Popen([*command, str(run.path)], stdout=subprocess.PIPE) as container:
        assert container.stdout
        assert container.stdout.readline() == b"ready\n"
        presence = presence_of(run)
        assert presence.liveness is Liveness.ELSEWHERE
        assert presence.is_running
        with pytest.raises(NotSentError, match="in another container") as refusal:
            send(run, Ask.STOP)
        told = re.search(r"there\): (kill -s TERM \d+), or docker exec", str(refusal.value))
        assert told
        subprocess.run(["sh", "-c", told[1]], check=True)
        assert container.wait(20) == 143


@needs_namespaces
def test_trainer_outside_the_consoles_container_is_alive_elsewhere(
    run: RunDirectory, start: Start
) -> None:
    launched = start("--every", "100")
    wait_for(lambda: run.loss.stat().st_size > 10, "a record")

    def inside(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*CONTAINER, sys.executable, "-m", "console", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    status = inside("status", str(run.path))
    assert status.returncode == 0, status.stdout
    assert f"training (pid {launched.pid}): in another container" in status.stdout
    stop = inside("stop", str(run.path))
    assert stop.returncode != 0
    assert f"kill -s TERM {launched.pid}" in stop.stderr
    assert launched.exit_code() is None


@pytest.mark.parametrize("pid", [-1, 0, 2**31, 2**63])
def test_impossible_pid_is_refused(run: RunDirectory, pid: int) -> None:
    lock = TrainerLock(run.lock, pid=0)
    written = orjson.loads(identity_of(0)) | {"pid": pid}
    run.lock.write_bytes(orjson.dumps(written))
    with pytest.raises(NotSentError, match=r"is dead|not written its pid"):
        send(run, Ask.STOP)
    lock.release()


def test_identity_that_changes_while_looking_stops_the_signal(
    run: RunDirectory, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = start()

    def end_it_first(pid: int) -> int | None:
        pidfd = os.pidfd_open(pid)
        launched.process.kill()
        launched.process.wait()
        return pidfd

    monkeypatch.setattr("console.process.signals._pin", end_it_first)
    with pytest.raises(NotSentError, match="just ended"):
        send(run, Ask.STOP)


def test_lock_kept_by_a_child_of_a_dead_trainer_is_told_apart(run: RunDirectory) -> None:
    leave_one = "import subprocess, os; subprocess.Popen(['sleep', '600'], close_fds=False)"
    launched: LaunchedTrainer = launch_trainer(run, [sys.executable, "-c", leave_one])
    assert launched.wait(20) == 0
    presence = presence_of(run)
    assert presence.liveness is Liveness.ORPHANED
    assert presence.is_held
    assert not presence.is_running
    os.killpg(launched.pid, signal.SIGKILL)
