"""One trainer a run: the kernel's lock on `trainer.lock`, and whom the lock belongs to.

The lock is an open-file-description lock (`F_OFD_SETLK`): it ends with the last process that has
the file open, however that ends, and anyone can ask who holds it without taking it for a moment
(a console that looked by locking could make a starting trainer believe that another one lives).
The pid, start time and host written in the file only say whom to signal.
"""

import fcntl
import os
import socket
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from trainer.rundir.atomic import write_fully
from trainer.rundir.outcomes import LockedError

LOCK_VARIABLE = "ANDREA_LOCK_FD"
"""Environment: the descriptor by which a launcher locked `trainer.lock` for its child."""

_FLOCK = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux: type, whence, start, len, pid


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that holds a run. `pid` 0: the lock is held, by whom is not written."""

    pid: int
    start_time: int
    """Clock ticks after boot at which the process began: with the pid, a process's identity."""
    host: str
    boot_id: str
    pid_namespace: int = 0
    """Inode of the namespace that the pid is of: a container may bear its host's name. 0: unknown,
    as in locks that an earlier version wrote.
    """

    @property
    def is_on_this_machine(self) -> bool:
        """Whether it runs under this kernel, since its last boot."""
        return self.host == socket.gethostname() and self.boot_id == boot_id()

    @property
    def is_here(self) -> bool:
        """Whether its pid means anything to this process."""
        return self.is_on_this_machine and self.pid_namespace in (0, pid_namespace())

    @property
    def is_alive(self) -> bool:
        """Whether the very process still runs (a zombie or a recycled pid does not count)."""
        return self.is_here and process_start_time(self.pid) == self.start_time


def process_start_time(pid: int) -> int | None:
    """Clock ticks after boot (proc(5), stat field 22); `None` for no process or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def boot_id() -> str:
    """Differs after each boot of the machine; empty where the kernel doesn't tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace() -> int:
    """Inode of the namespace of this process's pids; 0 where the kernel doesn't tell."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


class TrainerLock:
    """Held by the live trainer from before it reads the run until its process is gone."""

    def __init__(self, path: Path, *, pid: int | None = None) -> None:
        """Take the lock and write who holds it; `LockedError` if another trainer does.

        `pid` 0: for a child that will inherit the descriptor and can't lock by itself; whom it
        belongs to is written by `hand_to`. On any `OSError` (a full disk) the lock is free again.
        """
        self._fd = _inherited(path) or os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK))
            self.hand_to(os.getpid() if pid is None else pid)
        except BlockingIOError:
            os.close(self._fd)
            raise LockedError(f"{path.parent}: {_describe(holder_of(path))}") from None
        except OSError:
            os.close(self._fd)
            raise

    def hand_to(self, pid: int) -> None:
        """Write that process `pid`, which has the descriptor too, is the one to signal."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        write_fully(self._fd, identity_of(pid))

    def fileno(self) -> int:
        return self._fd

    def release(self) -> None:
        """Give the run free before the process ends."""
        os.close(self._fd)


def _inherited(path: Path) -> int | None:
    """The descriptor by which a launcher locked this run for its child, if there is one."""
    fd = os.environ.get(LOCK_VARIABLE, "")
    try:
        there, here = os.fstat(int(fd)), path.stat()
    except (ValueError, OSError):
        return None
    return int(fd) if os.path.samestat(there, here) else None


def identity_of(pid: int) -> bytes:
    """What `trainer.lock` says of the process that holds it, as one line of JSON."""
    holder = Holder(
        pid=pid,
        start_time=process_start_time(pid) or 0,
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid_namespace=pid_namespace(),
    )
    return orjson.dumps({**asdict(holder), "t": time.time()}) + b"\n"


def holder_of(path: Path) -> Holder | None:
    """Who holds the run; `None` if nobody does. Takes no lock. Raises `OSError` but for absence."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
        if _FLOCK.unpack(answer)[0] == fcntl.F_UNLCK:
            return None
        return _parse_holder(os.pread(fd, 4096, 0))
    finally:
        os.close(fd)


def _request(kind: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, 0, 0, 0)


def _parse_holder(data: bytes) -> Holder:
    try:
        # Launcher and trainer, which share the descriptor, may both have written at once.
        written = orjson.loads(data.partition(b"\n")[0])
        return Holder(
            pid=int(written["pid"]),
            start_time=int(written["start_time"]),
            host=str(written["host"]),
            boot_id=str(written["boot_id"]),
            pid_namespace=int(written.get("pid_namespace", 0)),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return Holder(pid=0, start_time=0, host=socket.gethostname(), boot_id=boot_id())


def _describe(holder: Holder | None) -> str:
    if holder is None or not holder.pid:
        return "another trainer holds this run"
    return f"another trainer holds this run (pid {holder.pid} on {holder.host})"
