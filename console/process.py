"""The trainer as a process: started, found alive, signalled; the only module that does so."""

import asyncio
import errno
import os
import signal
import site
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path

import trainer
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import LOCK_VARIABLE, Holder, TrainerLock, holder_of, process_start_time
from trainer.rundir.outcomes import EXIT_WORDS, Exit, RunError

RUN_VARIABLE = "ANDREA_RUN"
"""Where a foreign command finds the run directory, absolute."""


class Ask(Enum):
    """What a signal asks of the trainer."""

    CHECKPOINT = signal.SIGUSR1
    STOP = signal.SIGTERM


_BLOCKED_UNTIL_TAKEN = {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT}


class NotSentError(RunError):
    """No signal was sent, and why, for a person."""


class Liveness(StrEnum):
    """What the lock says of the run's trainer."""

    NOBODY = "nobody"
    ALIVE = "alive"
    ELSEWHERE = "elsewhere"
    """Held from another machine: alive as far as can be known, not to be signalled from here."""
    ORPHANED = "orphaned"
    """Held by something that a dead trainer has left behind."""
    UNNAMED = "unnamed"
    """Held, and by whom is not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Whether a trainer lives, and who it is."""

    liveness: Liveness
    holder: Holder | None = None

    @property
    def is_held(self) -> bool:
        """Whether no other trainer can start."""
        return self.liveness is not Liveness.NOBODY

    @property
    def is_running(self) -> bool:
        return self.liveness in (Liveness.ALIVE, Liveness.ELSEWHERE, Liveness.UNNAMED)


def presence_of(run: RunDirectory) -> Presence:
    """Ask the kernel who holds the run; a lock that can't be asked about counts as free."""
    try:
        holder = holder_of(run.lock)
    except OSError:
        holder = None
    if holder is None:
        return Presence(liveness=Liveness.NOBODY)
    if not holder.pid:
        return Presence(liveness=Liveness.UNNAMED, holder=holder)
    if not holder.is_here:
        return Presence(liveness=Liveness.ELSEWHERE, holder=holder)
    liveness = Liveness.ALIVE if holder.is_alive else Liveness.ORPHANED
    return Presence(liveness=liveness, holder=holder)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedTrainer:
    """A trainer that this process started and therefore reaps."""

    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def exit_code(self) -> int | None:
        """`None` while it lives; -N if signal N killed it. Reaps it; never waits."""
        return self.process.poll()

    def kill(self) -> None:
        """End it at once, nothing saved: for a trainer whose run is thrown away."""
        self.process.kill()
        self.process.wait()

    def wait(self, timeout_seconds: float | None) -> int | None:
        """Its exit code, waited for; `None` if it still lives at the timeout."""
        try:
            return self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None


def exit_words(code: int) -> str:
    """What an exit code means, for a person: the contract's words, or the signal's name."""
    if code in EXIT_WORDS:
        return EXIT_WORDS[Exit(code)]
    number = -code if code < 0 else code - 128
    if number in {int(known) for known in signal.Signals}:
        return f"killed by {signal.Signals(number).name}"
    return f"exit code {code}"


def launch_trainer(
    run: RunDirectory, command: Sequence[str] = (), *, arguments: Sequence[str] = ()
) -> LaunchedTrainer:
    """Start a trainer that outlives this process: own session, no stdin, output to trainer.log.

    `trainer.lock` is locked for it and stays so for as long as it lives: of two that start one
    at once, one is refused here. Without a command it is andrea-trainer, in the run directory;
    SIGUSR1, SIGTERM and SIGINT stay blocked in it until it takes them. A foreign command keeps
    the working directory, finds the run in `ANDREA_RUN`, and takes signals as any program does.
    Raises `OSError`, or `LockedError` where another trainer holds the run.
    """
    lock = TrainerLock(run.lock, pid=0)
    try:
        start = _launch_foreign if command else _launch_own
        launched = start(run, command or [*own_command(run), *arguments], lock)
        lock.hand_to(launched.pid)
        return launched
    finally:
        lock.release()


def _launch_own(run: RunDirectory, command: Sequence[str], lock: TrainerLock) -> LaunchedTrainer:
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED_UNTIL_TAKEN)
    try:
        return _spawn(run, command, lock, environment=own_environment(), directory=run.path)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _launch_foreign(
    run: RunDirectory, command: Sequence[str], lock: TrainerLock
) -> LaunchedTrainer:
    environment = {RUN_VARIABLE: str(run.path.absolute())}
    old_mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED_UNTIL_TAKEN)
    try:
        return _spawn(run, command, lock, environment=environment)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _spawn(
    run: RunDirectory,
    command: Sequence[str],
    lock: TrainerLock,
    *,
    environment: dict[str, str],
    directory: Path | None = None,
) -> LaunchedTrainer:
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            list(command),
            cwd=directory,
            env={**os.environ, **environment, LOCK_VARIABLE: str(lock.fileno())},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )
    return LaunchedTrainer(process=process)


def run_module(module: str, given: bytes) -> bytes:
    """Run a module of ours with `given` on stdin, wait, and return its stdout."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", module],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **own_environment()},
        check=False,
    )
    return done.stdout


def own_command(run: RunDirectory) -> list[str]:
    """What starts andrea-trainer on the run."""
    # -P: a file `trainer.py` in the working directory must not be taken for the package.
    return [sys.executable, "-P", "-m", "trainer", str(run.path.absolute())]


def own_environment() -> dict[str, str]:
    """Lets the child find the very package that this process uses, wherever it starts."""
    root = str(Path(trainer.__file__).resolve().parent.parent)
    if root in (*site.getsitepackages(), site.getusersitepackages()):
        return {}
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([root, before]) if before else root}


def send(run: RunDirectory, ask: Ask) -> Holder:
    """Signal the process that holds the run's lock, and no other; raises `NotSentError`.

    Its identity (host, boot, pid, start time, lock) is checked again once a pidfd pins the
    process, so that a pid that the kernel gave to another one is never signalled; and the kernel
    is asked whether the process takes the signal, which would kill it otherwise.
    """
    presence = presence_of(run)
    holder = presence.holder
    if holder is None:
        raise NotSentError("no trainer is running")
    if presence.liveness is Liveness.UNNAMED:
        raise NotSentError("a trainer holds the run but has not written its pid")
    if presence.liveness is Liveness.ORPHANED:
        raise NotSentError(f"the trainer (pid {holder.pid}) is dead; its children hold the run")
    if presence.liveness is Liveness.ELSEWHERE:
        raise NotSentError(f"the trainer runs on {holder.host}: do it there")
    try:
        _send_pinned(run, holder, ask)
    except PermissionError:
        msg = f"no permission to signal pid {holder.pid}: it belongs to another user"
        raise NotSentError(msg) from None
    except (OSError, OverflowError):
        raise NotSentError(f"the trainer (pid {holder.pid}) has just ended") from None
    return holder


def _send_pinned(run: RunDirectory, holder: Holder, ask: Ask) -> None:
    pidfd = _pin(holder.pid)
    try:
        if process_start_time(holder.pid) != holder.start_time or holder_of(run.lock) != holder:
            raise ProcessLookupError(holder.pid)
        if not takes(holder.pid, ask):
            msg = f"the trainer does not take {ask.value.name} yet, which would kill it now"
            raise NotSentError(f"{msg}; try again in a moment")
        if pidfd is None:
            os.kill(holder.pid, ask.value)
        else:
            signal.pidfd_send_signal(pidfd, ask.value)
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _pin(pid: int) -> int | None:
    """A pidfd; `None` on a kernel that has none."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            return None
        raise


def takes(pid: int, ask: Ask) -> bool:
    """Whether the process catches the signal, or holds it back until it does (proc(5))."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    masks = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith("Sig"))
    taken = int(masks["SigCgt"], 16) | int(masks["SigBlk"], 16)
    return bool(taken >> (ask.value - 1) & 1)


def on_leave_signals(leave: Callable[[], None]) -> None:
    """Have the running event loop call `leave` on SIGINT, SIGTERM and SIGHUP."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, leave)
