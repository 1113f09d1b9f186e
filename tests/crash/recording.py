"""Recording what a process does to the files of a directory and those below, call by call.

The calls of `os` are wrapped in this process, in all threads. A write by any other way would be
missed: `states.final` is therefore compared with the directory itself.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainer.rundir.directory import with_names

ROOT = 0
"""The inode of the directory itself; the others are numbered as they come."""


@dataclass(frozen=True, slots=True)
class Write:
    ino: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resize:
    """ftruncate, O_TRUNC; or a reservation, which only grows."""

    ino: int
    size: int
    only_grows: bool = False


@dataclass(frozen=True, slots=True)
class SyncFile:
    ino: int
    name: str


@dataclass(frozen=True, slots=True)
class Enter:
    """A name for an inode: something new, a link, or (with `source`) a rename, which is atomic."""

    name: str
    ino: int
    source: str = ""
    directory: int = ROOT
    is_directory: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    name: str
    directory: int = ROOT
    moved: int | None = None
    """The inode, if this is the second half of a rename into another directory."""


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    directory: int = ROOT


@dataclass(frozen=True, slots=True)
class Durable:
    """No call: the writer was told here that the checkpoint, or the stage, `step` is safe."""

    step: int


Operation = Write | Resize | SyncFile | Enter | Remove | SyncDirectory | Durable


class Killed(BaseException):
    """Plays SIGKILL: nothing that handles errors may take it."""


class Recorder:
    """Wraps the calls; the trace grows while `recording`."""

    def __init__(self, directory: Path, *, ignored: Collection[str] = ()) -> None:
        """`ignored`: names in the directory that are not looked at."""
        self.trace: list[Operation] = []
        self.directory = directory
        """The present name of the directory: whoever renames it says so here."""
        self._ignored = frozenset(ignored)
        self._moments: list[tuple[int, Callable[[], None]]] = []
        """(length of the trace, what is to be done then)."""
        self._names: dict[tuple[int, str], int] = {}
        """(directory, name) → inode."""
        self._files: dict[int, int] = {}
        """Descriptor → inode of ours."""
        self._directories = {ROOT}
        self._n_inodes = ROOT
        self._lock = threading.RLock()

    def durable(self, step: int) -> None:
        with self._lock:
            self.trace.append(Durable(step))

    def kill_after(self, n_operations: int) -> None:
        """Raise `Killed`, once, when the trace is that long."""

        def kill() -> None:
            raise Killed

        self.act_after(n_operations, kill)

    def act_after(self, n_operations: int, act: Callable[[], None]) -> None:
        """Call `act`, once, when the trace is that long, while all other calls wait."""
        self._moments.append((n_operations, act))

    @contextmanager
    def recording(self) -> Iterator["Recorder"]:
        self._adopt(self.directory, ROOT)
        with pytest.MonkeyPatch.context() as patch:
            for name in (
                *("open", "close", "write", "pwrite", "ftruncate", "posix_fallocate"),
                *("fsync", "rename", "replace", "link", "unlink", "mkdir", "rmdir"),
            ):
                patch.setattr(os, name, self._wrapped(getattr(os, name), getattr(self, f"_{name}")))
            yield self

    def _wrapped(self, real: Callable[..., Any], record: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                result = record(real, *arguments, **options)
                due = [moment for moment in self._moments if moment[0] <= len(self.trace)]
                for moment in due:
                    self._moments.remove(moment)
                    moment[1]()
                return result

        return call

    def _adopt(self, directory: Path, ino: int) -> None:
        """What lies in the directory already is durable."""
        for path in sorted(directory.iterdir()):
            if path.is_dir() and path.name not in self._ignored:
                self._adopt(path, self._enter((ino, path.name), is_directory=True))
            elif path.is_file():
                file = self._enter((ino, path.name))
                self.trace += [Write(file, 0, path.read_bytes()), SyncFile(file, path.name)]
        self.trace.append(SyncDirectory(ino))

    def _enter(
        self,
        place: tuple[int, str],
        ino: int | None = None,
        source: str = "",
        *,
        is_directory: bool = False,
    ) -> int:
        if ino is None:
            self._n_inodes += 1
            ino = self._n_inodes
        if is_directory:
            self._directories.add(ino)
        self._names[place] = ino
        self.trace.append(Enter(place[1], ino, source, place[0], is_directory))
        return ino

    def _place(self, path: Any, dir_fd: int | None = None) -> tuple[int, str] | None:
        """(directory, name) of a path below ours; None for any other."""
        if not isinstance(path, str | Path):
            return None
        path = with_names(os.fspath(path))
        if dir_fd is not None:
            directory, parts = self._files.get(dir_fd), Path(path).parts
        elif Path(path).is_relative_to(self.directory):
            directory, parts = ROOT, Path(path).relative_to(self.directory).parts
        else:
            return None
        for part in parts[:-1]:
            directory = None if directory is None else self._names.get((directory, part))
        is_ours = directory in self._directories and parts and parts[0] not in self._ignored
        return (directory, parts[-1]) if is_ours and directory is not None else None

    def _open(
        self,
        real: Callable[..., int],
        path: Any,
        flags: int,
        *rest: Any,
        dir_fd: int | None = None,
        **options: Any,
    ) -> int:
        place = self._place(path, dir_fd)
        fd = real(path, flags, *rest, dir_fd=dir_fd, **options)
        if place is not None:
            is_new = place not in self._names
            ino = self._files[fd] = self._enter(place) if is_new else self._names[place]
            if flags & os.O_TRUNC and not is_new:
                self.trace.append(Resize(ino, 0))
        elif isinstance(path, str | Path) and with_names(str(path)) == str(self.directory):
            self._files[fd] = ROOT
        return fd

    def _close(self, real: Callable[..., None], fd: int) -> None:
        self._files.pop(fd, None)
        real(fd)

    def _write(self, real: Callable[..., int], fd: int, data: Any) -> int:
        ino = self._files.get(fd)
        offset = os.lseek(fd, 0, os.SEEK_CUR) if ino is not None else 0
        written = real(fd, data)
        if ino is not None:
            self.trace.append(Write(ino, offset, bytes(data)[:written]))
        return written

    def _pwrite(self, real: Callable[..., int], fd: int, data: Any, offset: int) -> int:
        written = real(fd, data, offset)
        if (ino := self._files.get(fd)) is not None:
            self.trace.append(Write(ino, offset, bytes(data)[:written]))
        return written

    def _ftruncate(self, real: Callable[..., None], fd: int, size: int) -> None:
        real(fd, size)
        if (ino := self._files.get(fd)) is not None:
            self.trace.append(Resize(ino, size))

    def _posix_fallocate(self, real: Callable[..., None], fd: int, offset: int, size: int) -> None:
        real(fd, offset, size)
        if (ino := self._files.get(fd)) is not None:
            self.trace.append(Resize(ino, offset + size, only_grows=True))

    def _fsync(self, real: Callable[..., None], fd: int) -> None:
        real(fd)
        ino = self._files.get(fd)
        if ino in self._directories and ino is not None:
            self.trace.append(SyncDirectory(ino))
        elif ino is not None:
            name = next((name for (_, name), known in self._names.items() if known == ino), "")
            self.trace.append(SyncFile(ino, name))

    def _rename(self, real: Callable[..., None], source: Any, target: Any) -> None:
        before, after = self._place(source), self._place(target)
        real(source, target)
        if before is None or after is None:
            self._take_in(after, target)
            return
        ino = self._names.pop(before)
        if before[0] == after[0]:
            self._enter(after, ino, before[1])
        else:
            self._enter(after, ino)
            self.trace.append(Remove(before[1], before[0], ino))

    _replace = _rename

    def _link(self, real: Callable[..., None], source: Any, target: Any) -> None:
        before, after = self._place(source), self._place(target)
        real(source, target)
        if before is not None and after is not None:
            self._enter(after, self._names[before])
        else:
            self._take_in(after, target)

    def _take_in(self, place: tuple[int, str] | None, path: Any) -> None:
        """A file that comes from outside is durable, but for its name."""
        if place is not None:
            file = self._enter(place)
            self.trace += [Write(file, 0, Path(path).read_bytes()), SyncFile(file, place[1])]

    def _unlink(self, real: Callable[..., None], path: Any, *, dir_fd: int | None = None) -> None:
        real(path, dir_fd=dir_fd)
        place = self._place(path, dir_fd)
        if place is not None:
            self._names.pop(place)
            self.trace.append(Remove(place[1], place[0]))

    _rmdir = _unlink

    def _mkdir(self, real: Callable[..., None], path: Any, *rest: Any, **options: Any) -> None:
        real(path, *rest, **options)
        place = self._place(path)
        if place is not None:
            self._enter(place, is_directory=True)
