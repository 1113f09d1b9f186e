"""Rank 0 starts the other ranks of its machine; the only module of the trainer that starts any."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trainer
from trainer.crew.where import LEADER_VARIABLE

_PR_SET_PDEATHSIG = 1
_HELD_BACK = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}


class Child:
    """A rank that this process has started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self, seconds: float = 0.0) -> str:
        """How it has ended, within so long; empty: it lives."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return ""
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}: its last words are in trainer.log"

    def kill(self) -> None:
        self._process.kill()

    def end(self, seconds: float) -> None:
        """Wait so long for its end, and make it then."""
        if not self.ended(seconds):
            self._process.kill()
            self._process.wait()


def start_ranks(run: Path, size: int, port: int) -> dict[int, Child]:
    """Ranks 1 to size - 1, in the group and with the output of this process. `OSError`.

    Signals stay blocked in them until they ignore them: a stop is rank 0's to hear.
    """
    root = str(Path(trainer.__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    shared = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "WORLD_SIZE": str(size),
        LEADER_VARIABLE: f"127.0.0.1:{port}",
    }
    command = [sys.executable, "-P", "-m", "trainer", str(run)]
    with _holding_back_signals():
        return {
            rank: Child(
                subprocess.Popen(
                    command,
                    env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdin=subprocess.DEVNULL,
                )
            )
            for rank in range(1, size)
        }


def die_with_parent() -> None:
    """Of a rank that rank 0 has started: a process that is stopped hears of no end otherwise."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def _holding_back_signals() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
