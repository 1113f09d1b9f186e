"""Recording what a process does to the files of one directory, call by call.

The calls of `os` are wrapped in this process, in all threads. A write by any other way would be
missed: `Trace.final` is therefore compared with the directory itself (see `states.py`).
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


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
    """A name for an inode: a new file, a link, or (with `source`) a rename, which is atomic."""

    name: str
    ino: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    name: str


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    pass


@dataclass(frozen=True, slots=True)
class Durable:
    """No call: the writer was told here that the checkpoint of `step` is safe."""

    step: int


Operation = Write | Resize | SyncFile | Enter | Remove | SyncDirectory | Durable


class Recorder:
    """Wraps the calls; the trace grows while `recording`."""

    def __init__(self, directory: Path) -> None:
        self.trace: list[Operation] = []
        self._directory = directory
        self._names: dict[str, int] = {}
        self._files: dict[int, int | None] = {}
        """Descriptor → inode of ours; `None` for the directory itself."""
        self._n_inodes = 0
        self._lock = threading.RLock()

    def durable(self, step: int) -> None:
        with self._lock:
            self.trace.append(Durable(step))

    @contextmanager
    def recording(self) -> Iterator["Recorder"]:
        self._adopt()
        with pytest.MonkeyPatch.context() as patch:
            for name in (
                *("open", "close", "write", "pwrite", "ftruncate", "posix_fallocate"),
                *("fsync", "rename", "replace", "link", "unlink"),
            ):
                patch.setattr(os, name, self._wrapped(getattr(os, name), getattr(self, f"_{name}")))
            yield self

    def _wrapped(self, real: Callable[..., Any], record: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                return record(real, *arguments, **options)

        return call

    def _adopt(self) -> None:
        """What lies in the directory already is durable."""
        for path in sorted(self._directory.iterdir()):
            if path.is_file():
                ino = self._enter(path.name)
                self.trace += [Write(ino, 0, path.read_bytes()), SyncFile(ino, path.name)]
        self.trace.append(SyncDirectory())

    def _enter(self, name: str, ino: int | None = None, source: str = "") -> int:
        if ino is None:
            self._n_inodes += 1
            ino = self._n_inodes
        self._names[name] = ino
        self.trace.append(Enter(name, ino, source))
        return ino

    def _is_ours(self, path: Any) -> bool:
        return isinstance(path, str | Path) and Path(path).parent == self._directory

    def _open(
        self, real: Callable[..., int], path: Any, flags: int, *rest: Any, **options: Any
    ) -> int:
        is_new = self._is_ours(path) and not Path(path).exists()
        fd = real(path, flags, *rest, **options)
        if self._is_ours(path):
            name = Path(path).name
            ino = self._enter(name) if is_new else self._names[name]
            self._files[fd] = ino
            if flags & os.O_TRUNC and not is_new:
                self.trace.append(Resize(ino, 0))
        elif path == self._directory:
            self._files[fd] = None
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
        if fd in self._files:
            ino = self._files[fd]
            name = next((name for name, known in self._names.items() if known == ino), "")
            self.trace.append(SyncDirectory() if ino is None else SyncFile(ino, name))

    def _rename(self, real: Callable[..., None], source: Any, target: Any) -> None:
        real(source, target)
        if self._is_ours(target):
            ino = self._names.pop(Path(source).name)
            self._enter(Path(target).name, ino, Path(source).name)

    _replace = _rename

    def _link(self, real: Callable[..., None], source: Any, target: Any) -> None:
        real(source, target)
        if self._is_ours(target):
            self._enter(Path(target).name, self._names[Path(source).name])

    def _unlink(self, real: Callable[..., None], path: Any) -> None:
        real(path)
        if self._is_ours(path):
            self._names.pop(Path(path).name)
            self.trace.append(Remove(Path(path).name))
