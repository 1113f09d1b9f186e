"""A program in a pseudo-terminal: what it sends, when, and what it costs."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
ROWS, COLUMNS = 45, 160
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Of what is measured: from byte code, as a package that pip has installed."""


class PtyProgram:
    """One program and its children, in a session of their own; `with` ends it."""

    def __init__(self, *command: str, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: beside what all have."""
        self._terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            env={**ENVIRONMENT, "TERM": "xterm-256color", **(environment or {})},
        )
        os.close(inner)
        self.output = b""
        self.last_output = self.started
        """When the last bytes came, by `perf_counter`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._process.terminate()
        while self._process.poll() is None:
            self.pump(0.05)
        for pid in self._pids():  # what outlives the program that started it
            os.kill(pid, signal.SIGKILL)
        os.close(self._terminal)

    @property
    def pid(self) -> int:
        return self._process.pid

    def pump(self, timeout_seconds: float) -> int:
        """Take what is sent within the time, or the first of it; how many bytes."""
        if not select.select([self._terminal], [], [], timeout_seconds)[0]:
            return 0
        try:
            data = os.read(self._terminal, 1 << 20)
        except OSError:  # the other end is closed
            return 0
        self.output += data
        self.last_output = time.perf_counter()
        return len(data)

    def watch(self, seconds: float) -> int:
        """Take all that is sent in this time; how many bytes."""
        deadline = time.perf_counter() + seconds
        n_bytes = 0
        while (left := deadline - time.perf_counter()) > 0:
            n_bytes += self.pump(left)
        return n_bytes

    def wait_for(self, text: bytes, seconds: float = 60.0) -> float:
        """Seconds from the process's start until `text` was sent."""
        deadline = time.perf_counter() + seconds
        while text not in self.output:
            if time.perf_counter() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"{text!r} was not shown: {self.output[-2000:]!r}")
            self.pump(0.05)
        return self.last_output - self.started

    def settle(self, quiet_seconds: float) -> float:
        """Seconds from the process's start to the last byte before so long a silence."""
        while time.perf_counter() - self.last_output < quiet_seconds:
            self.pump(0.05)
        return self.last_output - self.started

    def press(self, key: str) -> float:
        """Seconds until the first byte of an answer; pressed when nothing comes for a moment."""
        while self.pump(0.05):
            pass
        pressed = time.perf_counter()
        os.write(self._terminal, key.encode())
        while not self.pump(1.0) and time.perf_counter() - pressed < 10:
            pass
        return self.last_output - pressed

    def cpu_seconds(self) -> float:
        """User and system time of all its processes, and of their children that have ended."""
        return sum(map(cpu_seconds, self._pids()))

    def rss_bytes(self) -> int:
        """Of all its processes; pages that they share count more than once."""
        return sum(_status(pid, "VmRSS") for pid in self._pids())

    def peak_rss_bytes(self) -> int:
        """The same at each one's largest."""
        return sum(_status(pid, "VmHWM") for pid in self._pids())

    def descriptors(self) -> int:
        return sum(map(n_descriptors, self._pids()))

    def _pids(self) -> list[int]:
        pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        return [pid for pid in pids if _session_of(pid) == self.pid]


class PtyConsole(PtyProgram):
    """The console on a run."""

    def __init__(
        self, run: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        command = (sys.executable, "-m", "console", str(run), *arguments)
        super().__init__(*command, environment=environment)


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":")) * 1024


def n_descriptors(pid: int) -> int:
    """Open files of a process."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
