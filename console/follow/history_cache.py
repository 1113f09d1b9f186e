"""A long history as it was read last, for the next opening: a file of the operator's own.

It is taken where the run's file still begins with the very bytes that it was read from (sha256,
all of them, at each opening), and was made by this code; else it is as if there were none.
"""

import contextlib
import hashlib
import mmap
import os
import pickle
import struct
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import console
import trainer
from console.follow.handed_over import flattened, loaded, write_arrays
from console.follow.history_parts import Part, ReadHistory
from console.follow.operator_paths import operator_path
from trainer.rundir.atomic import write_fully
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import open_regular, reading
from trainer.rundir.records.loss_record import read_loss_records
from trainer.rundir.records.record_file import RecordTail

WORTH_KEEPING_BYTES = 8 << 20
"""Of records that were not known before."""
_UNUSED_SECONDS = 30 * 24 * 3600.0
"""After this, one that nobody has opened is removed."""
_END = struct.Struct("<32sq")
"""The file's last bytes: by what code it was made, and how long the pickle before this is."""
_HASHED_BYTES = 1 << 20


def cache_of(run: RunDirectory, environment: Mapping[str, str]) -> "HistoryCache | None":
    """`$XDG_CACHE_HOME/andrea/….history`, by the run's path; `None` for who has no home."""
    path = operator_path(run.path, environment, "XDG_CACHE_HOME", ".cache", "history")
    return None if path is None else HistoryCache(path)


class HistoryCache:
    """One run's."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_there(self) -> bool:
        """Whether there is a file, of whatever worth."""
        return self.path.exists()

    def read(self, losses: Path) -> ReadHistory | None:
        """What was kept of the history in `losses`, to be read on; `None` where that is not known
        to be what reading it from the beginning gives.
        """
        try:
            kept = self._load()
            if kept is None:
                return None
            identity = _identity_of(losses, kept.parts)
            tail = RecordTail(losses, read_loss_records)
            tail.pass_to(kept.parts[-1][0])
        except (OSError, ValueError):
            return None
        if identity is None or tail.identity != identity:
            return None
        return ReadHistory(
            tail=tail,
            history=kept.history,
            damaged_lines=kept.damaged_lines,
            parts=kept.parts,
        )

    def _load(self) -> ReadHistory | None:
        fd = open_regular(self.path, follows_links=False)
        try:
            if os.fstat(fd).st_uid != os.geteuid():
                return None
            memory = memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
            os.utime(fd)
        finally:
            os.close(fd)
        if len(memory) < _END.size:
            return None
        code, n_bytes = _END.unpack(memory[-_END.size :])
        if code != _code():
            return None
        rest, spans = pickle.loads(memory[-_END.size - n_bytes : -_END.size])
        kept: ReadHistory = loaded(rest, spans, memory)
        return kept

    def keep(self, read: ReadHistory) -> None:
        """Write it down if that is worth it, in a thread; an error leaves the file as it was."""
        if read.n_new_bytes < WORTH_KEEPING_BYTES or not read.parts:
            return
        rest, arrays = flattened(read)  # before anyone adds to it
        threading.Thread(target=self._write, args=(rest, arrays), name="history-cache").start()

    def _write(self, rest: bytes, arrays: list[memoryview]) -> None:
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.partial")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_unused(self.path.parent)
            try:
                _write_flat(beside, rest, arrays)
                beside.replace(self.path)
            finally:
                beside.unlink(missing_ok=True)


def _write_flat(path: Path, rest: bytes, arrays: list[memoryview]) -> None:
    """Durable when it returns: after a power cut the name must not stand for other bytes."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        head = pickle.dumps((rest, write_arrays(fd, arrays)))
        os.lseek(fd, 0, os.SEEK_END)
        write_fully(fd, head + _END.pack(_code(), len(head)))
        os.fdatasync(fd)
    finally:
        os.close(fd)


def _identity_of(losses: Path, parts: Sequence[Part]) -> tuple[int, int] | None:
    """Device and inode of the file, `None` if it does not begin with these parts."""
    window, at = memoryview(bytearray(_HASHED_BYTES)), 0
    with reading(losses, follows_links=False) as file:
        for end, told in parts:
            digest = hashlib.sha256()
            while at < end and (n_read := file.readinto(window[: end - at])):
                digest.update(window[:n_read])
                at += n_read
            if at < end or digest.digest() != told:
                return None
        stat = os.fstat(file.fileno())
    return stat.st_dev, stat.st_ino


def _code() -> bytes:
    """What else the arrays and marks follow from: any code of ours, Python, numpy, the time zone
    that the marks are written in.
    """
    made_by = (sys.version, np.__version__, time.tzname, time.timezone, *_modules())
    return hashlib.sha256(repr(made_by).encode()).digest()


def _modules() -> Iterator[tuple[str, int, int]]:
    for package in (console, trainer):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            found = path.stat()
            yield path.name, found.st_size, found.st_mtime_ns


def _remove_unused(folder: Path) -> None:
    for path in folder.glob("*.history*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                path.unlink()
