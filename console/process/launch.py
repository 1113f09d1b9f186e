"""Starting the trainer and other processes of ours; the only module that does so."""

import asyncio
import os
import signal
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import trainer
from trainer.rundir.atomic import part_from_others
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import LOCK_VARIABLE, TrainerLock
from trainer.rundir.outcomes import EXIT_WORDS, Exit
from trainer.rundir.reading import open_regular

RUN_VARIABLE = "ANDREA_RUN"
"""Where a foreign command finds the run directory, absolute."""

_TOOL_SECONDS = 5.0
_LEAVING_SECONDS = 2.0
"""A program in this terminal has so long to end when the console does."""
_BLOCKED_UNTIL_TAKEN = {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT}


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


def is_kill(code: int) -> bool:
    """Whether an exit code tells of SIGKILL, of whoever sent it."""
    return code in (-signal.SIGKILL, 128 + signal.SIGKILL)


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
    part_from_others(run.log)
    log = open_regular(run.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        process = subprocess.Popen(
            list(command),
            cwd=directory,
            env={**os.environ, **environment, LOCK_VARIABLE: str(lock.fileno())},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=lock.descriptors,
        )
    finally:
        os.close(log)
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


def lines_of_module(module: str, arguments: Sequence[str]) -> Iterator[bytes]:
    """What a module of ours prints, a line at a time; it ends with whoever reads.

    Raises `OSError` where it ends without having come to its end.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, **own_environment()},
    )
    assert process.stdout is not None
    try:
        yield from process.stdout
        process.wait()
    finally:
        _end(process)
        process.stdout.close()
    if process.returncode:
        raise OSError(0, f"{exit_words(process.returncode)}", module)


async def run_in_terminal(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> str:
    """Give the terminal to a program until it ends; Ctrl+C is its own meanwhile.

    Returns why it could not begin, for a person; empty if it did. For the main thread only. The
    loop goes on; if the waiting is cancelled, the program is ended: its terminal may be gone, and
    not every program ends by that.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(list(command), env={**os.environ, **(environment or {})})
        try:
            await asyncio.to_thread(process.wait)
        finally:
            _end(process)
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    finally:
        signal.signal(signal.SIGINT, before)
    return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing if it has ended; else by SIGTERM, or SIGKILL if it doesn't heed that."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_LEAVING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def output_of(command: Sequence[str]) -> str:
    """What a tool prints; nothing where it can't be run, fails, or takes seconds."""
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TOOL_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


async def run_console(run: RunDirectory) -> str:
    """A console of another run in this terminal, until it is left; why it could not begin."""
    command = [sys.executable, "-P", "-m", "console", str(run.path.absolute())]
    return await run_in_terminal(command, own_environment())


def own_command(run: RunDirectory, *verb: str) -> list[str]:
    """What starts andrea-trainer on the run."""
    # -P: a file `trainer.py` in the working directory must not be taken for the package.
    return [sys.executable, "-P", "-m", "trainer", *verb, str(run.path.absolute())]


def become_trainer(run: RunDirectory, *verb: str) -> NoReturn:
    """Go on as andrea-trainer in this process: its signals, output and exit code. `OSError`."""
    os.execve(sys.executable, own_command(run, *verb), {**os.environ, **own_environment()})


def own_environment() -> dict[str, str]:
    """Lets the child find the very package that this process uses, wherever it starts."""
    root = str(Path(trainer.__file__).resolve().parent.parent)
    if root in (*site.getsitepackages(), site.getusersitepackages()):
        return {}
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([root, before]) if before else root}
