"""`subprocess.Popen` for trainers, by a fork of this process, which has torch loaded already.

A trainer that the console starts takes seconds to load torch; forked, it takes milliseconds.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.crash.fuzz.child import renew_streams
from trainer.cli import main as trainer_main

_REAL = subprocess.Popen
_TRAINER = [sys.executable, "-P", "-m", "trainer"]
_LAST_WORDS_FD = 900
"""A copy of the case's stderr: where a stuck trainer tells where it is."""


def fork_trainers() -> None:
    """From here on, in this process, trainers are forked; all else is started as ever."""
    os.dup2(2, _LAST_WORDS_FD)
    subprocess.Popen = _popen  # type: ignore[assignment, misc]


def _popen(command: Sequence[str], **options: Any) -> Any:
    if list(command[:4]) == _TRAINER:
        return ForkedTrainer(command, **options)
    return _REAL(command, **options)


class ForkedTrainer:
    """As much of `Popen` as the console asks for."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Any,
        env: dict[str, str],
        stdout: int,
        pass_fds: Sequence[int],
        **_: Any,
    ) -> None:
        self.args = command
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _train(command[4:], cwd, env, stdout, pass_fds)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
            time.sleep(0.002)
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _train(
    arguments: Sequence[str], cwd: Any, env: dict[str, str], log: int, kept: Sequence[int]
) -> NoReturn:
    code = 1
    try:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        for fd in sorted(int(path.name) for path in Path("/proc/self/fd").iterdir()):
            if fd > 2 and fd not in (*kept, _LAST_WORDS_FD):
                with contextlib.suppress(OSError):
                    os.close(fd)
        renew_streams()
        signal.set_wakeup_fd(-1)
        if cwd is not None:
            os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        code = trainer_main(list(arguments))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter does at a program's end
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
