"""One trainer a run: the kernel's lock on `trainer.lock`, and whom the lock belongs to.

The lock is an open-file-description lock (`F_OFD_SETLK`): it ends with the last process that has
the file open, however that ends, and anyone can ask who holds it without taking it for a moment
(a console that looked by locking could make a starting trainer believe that another one lives).
The pid, start time and host written in the file only say whom to signal.

A file can lose its name while it is locked, so the directory is locked, too: shared, since the
kernel gives no other lock of this kind on a directory. It says that a trainer lives where
`trainer.lock` no longer does, and the live trainer puts that back (`TrainerLock.keep`).
"""

import contextlib
import fcntl
import os
import socket
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from trainer.rundir.atomic import move_aside, write_fully
from trainer.rundir.outcomes import LockedError
from trainer.rundir.reading import NotRegularError, has_other_names, open_regular

LOCK_VARIABLE = "ANDREA_LOCK_FD"
"""Environment: the descriptor by which a launcher locked `trainer.lock` for its child."""

_CONTESTED_SECONDS = 5.0
"""Longer than anybody needs to see that the directory is held, and to give up."""

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
        self._path = path
        self._pid = os.getpid() if pid is None else pid
        self._contested_since: float | None = None
        self._directory_fd = _open_directory(path.parent)
        try:
            inherited = _inherited(path)
            if inherited is None:
                _part(path, self._directory_fd)
            self._fd = _open(path) if inherited is None else inherited
        except OSError:
            os.close(self._directory_fd)
            raise
        try:
            _lock(self._fd, fcntl.F_WRLCK)
            # The launcher, which locked the file for this process, may hold the directory still.
            self._lock_directory(is_shared=inherited is not None)
            self.hand_to(self._pid)
        except BlockingIOError:
            self.release()
            raise LockedError(f"{path.parent}: {_describe(holder_of(path))}") from None
        except OSError:
            self.release()
            raise
        self._known = os.fstat(self._fd)

    def _lock_directory(self, *, is_shared: bool) -> None:
        """Looked at before, so that whoever is refused never holds it, and after, for a race."""
        if not is_shared and _is_locked(self._directory_fd):
            raise BlockingIOError
        _lock(self._directory_fd, fcntl.F_RDLCK)
        if not is_shared and _is_locked(self._directory_fd):
            raise BlockingIOError

    def hand_to(self, pid: int) -> None:
        """Write that process `pid`, which has the descriptor too, is the one to signal."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        write_fully(self._fd, identity_of(pid))

    def fileno(self) -> int:
        """Of `trainer.lock`."""
        return self._fd

    @property
    def descriptors(self) -> tuple[int, int]:
        """What a child has to inherit to hold the run as well: of file and directory."""
        return self._fd, self._directory_fd

    def keep(self) -> str:
        """Have `trainer.lock` be the file that is locked; what was wrong, in words, else empty.

        One look where nothing is. A lock that lost its name is made anew, a file without a lock
        is taken. Raises `LockedError` where another trainer has locked the run, `OSError`.
        """
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return self._make_anew("was removed")
        if os.path.samestat(found, self._known):
            self._contested_since = None
            return ""
        try:
            return self._take_found()
        except NotRegularError as stranger:
            move_aside(self._path, "foreign")
            return self._make_anew(stranger.strerror or str(stranger))
        except FileNotFoundError:
            return self._make_anew("was removed")

    def _make_anew(self, what: str) -> str:
        """Locked before it has the name: nobody can find it free."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}.partial")
        beside.unlink(missing_ok=True)
        fd = open_regular(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, follows_links=False)
        try:
            _lock(fd, fcntl.F_WRLCK)
            write_fully(fd, identity_of(self._pid))
            with contextlib.suppress(FileExistsError):  # somebody was quicker: the next look's
                os.link(beside, self._path)
        except OSError:
            os.close(fd)
            raise
        finally:
            beside.unlink(missing_ok=True)
        self._change_to(fd)
        return what

    def _take_found(self) -> str:
        fd = open_regular(self._path, os.O_RDWR, follows_links=False)
        try:
            _lock(fd, fcntl.F_WRLCK)
        except BlockingIOError:
            os.close(fd)
            return self._contested()
        except OSError:
            os.close(fd)
            raise
        self._change_to(fd)
        self.hand_to(self._pid)
        return "was replaced by another file"

    def _contested(self) -> str:
        """Whoever asks for the lock and is refused has it for a moment; a trainer keeps it."""
        now = time.monotonic()
        self._contested_since = self._contested_since or now
        if _is_locked(self._directory_fd) or now - self._contested_since > _CONTESTED_SECONDS:
            raise LockedError(
                f"{self._path}: was removed, and another trainer has locked a new one: this one"
                " ends, so that no two train the run"
            )
        return "was removed, and another process has locked a new one"

    def _change_to(self, fd: int) -> None:
        os.close(self._fd)
        self._fd, self._known = fd, os.fstat(fd)

    def release(self) -> None:
        """Give the run free before the process ends."""
        try:
            os.close(self._directory_fd)
        finally:
            os.close(self._fd)


def _open_directory(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _open(path: Path) -> int:
    return open_regular(path, os.O_RDWR | os.O_CREAT, follows_links=False)


def _part(path: Path, directory_fd: int) -> None:
    """A lock that came along in a copy by hard links is the other run's: this one gets its own."""
    if not _is_locked(directory_fd) and has_other_names(path):
        path.unlink(missing_ok=True)


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
        if has_other_names(path):  # also another run's: this one is held by its directory alone
            on_directory = _holder_of_directory(path.parent)
            return on_directory and (_holder_of_file(path) or on_directory)
        return _holder_of_file(path) or _holder_of_directory(path.parent)
    except FileNotFoundError:
        return _holder_of_directory(path.parent)


def _holder_of_file(path: Path) -> Holder | None:
    fd = open_regular(path, follows_links=False)
    try:
        return _parse_holder(os.pread(fd, 4096, 0)) if _is_locked(fd) else None
    finally:
        os.close(fd)


def _holder_of_directory(directory: Path) -> Holder | None:
    """Somebody, where a trainer lives whose `trainer.lock` has lost its name."""
    try:
        fd = _open_directory(directory)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _unnamed() if _is_locked(fd) else None
    finally:
        os.close(fd)


def _lock(fd: int, kind: int) -> None:
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _request(kind))


def _is_locked(fd: int) -> bool:
    """Whether another open file description holds a lock of any kind on it."""
    answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
    return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)


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
        return _unnamed()


def _unnamed() -> Holder:
    return Holder(pid=0, start_time=0, host=socket.gethostname(), boot_id=boot_id())


def _describe(holder: Holder | None) -> str:
    if holder is None or not holder.pid:
        return "another trainer holds this run"
    return f"another trainer holds this run (pid {holder.pid} on {holder.host})"
