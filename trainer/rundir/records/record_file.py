"""Append-only JSON arrays: `[`, one record a line, `]`; written, repaired and followed.

At rest the file is one valid JSON document. Appending overwrites the closing bracket only, in
one write, so its cost does not depend on the file's length and no earlier byte ever changes.
"""

import contextlib
import errno
import gc
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, overload

from trainer.rundir.atomic import part_from_others, replace_keeping, sync_directory, write_atomic
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import RECORDS_BYTES, open_regular, read_file, reading
from trainer.rundir.records.mending import how_to_mend, wrong_with
from trainer.rundir.records.record_lines import (
    Reader,
    Record,
    T,
    encode_record,
    parse_array,
    parse_lines,
    read_records,
    whole_head,
)

__all__ = [
    "Loaded",
    "Mended",
    "News",
    "Record",
    "RecordArray",
    "RecordTail",
    "Repair",
    "canonical",
    "load_records",
    "without_collector",
]

_OPEN = b"["
_CLOSE = b"\n]\n"
_READ_BYTES = 4 << 20
_LONGEST_BYTES = 64 << 20
"""No record is longer; a larger window without one is not made larger still."""
_TORN_LINES = 1000
"""More that can't be read, without a record behind them, are no record that is being written."""
_MARK_BYTES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What was cut from the end of an array after a crash, and where the bytes are kept."""

    path: Path
    torn_bytes: int
    kept_as: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """An array that somebody removed, emptied or replaced, and that was written whole again."""

    path: Path
    what: str
    """What had become of it, for a person."""
    kept_as: Path | None
    """Where what was found is kept; `None`: there was nothing."""

    def __str__(self) -> str:
        kept = f"; what was found is kept as {self.kept_as.name}" if self.kept_as else ""
        return f"it {self.what} while the trainer had it open: written whole again{kept}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[T]):
    """All whole records of a file, and the offset just behind the last one."""

    records: list[T]
    end: int
    data: bytes
    """The file as it was read."""


@overload
def load_records(path: Path) -> Loaded[Record]: ...
@overload
def load_records(path: Path, read: Reader[T]) -> Loaded[T]: ...
def load_records(path: Path, read: Reader[Any] = read_records) -> Loaded[Any]:
    """Read a whole array; records end at the first line that is not whole (see `Loaded.end`).

    A missing or empty file holds no record. Raises `HistoryError` for a file that holds records
    but is not laid out as an array of one record a line.
    """
    try:
        data = read_file(path, at_most=RECORDS_BYTES, follows_links=False)
    except FileNotFoundError:
        data = b""
    end = data.rfind(b"}") + 1
    with without_collector():
        records = parse_array(data, read)
    if not records:
        if data.strip(b"\0 \r\n") and (wrong := wrong_with(data)):
            raise HistoryError(f"{path}: {wrong}; {how_to_mend(path)}")
        records, end = whole_head(data, read)
    return Loaded(records=records, end=end, data=data)


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """While hundreds of thousands of objects are made that stay: it doubles the time of 200,000.

    Where they are gone through next, keep it up: the collector's first look is at all of them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class RecordArray:
    """The writing end of an array; one process at a time (the trainer's lock sees to that).

    What was written is kept in memory, too: the file is anybody's to remove, empty or replace
    (an editor, a sync tool, a backup put back), and is then written whole again.
    """

    def __init__(self, path: Path, loaded: Loaded[Any] | None = None) -> None:
        """Open or make the file and cut a torn tail; raises `OSError` or `HistoryError`.

        `loaded`: what `load_records` gave just now, for a caller that looks before it opens.
        """
        self.path = path
        self.records: list[Record] = []
        """Those found at opening, in file order, unless the caller had looked before."""
        if loaded is None:
            loaded = load_records(path)
            self.records = loaded.records
        self.repair: Repair | None = None
        self.pending: list[bytes] = []
        """Encoded records that found no room on the disk yet; written before the next one."""
        self.mended: Mended | None = None
        """What was mended last."""
        self._is_empty = not loaded.records
        self._written = bytearray(memoryview(loaded.data)[: loaded.end]) or bytearray(_OPEN)
        """All but the closing bracket."""
        self._has_failed = False
        """The last write did: the file need not be as it was left."""
        self._durable_end = 0
        self._must_rewrite = False
        self._lock = threading.Lock()
        """Between the loop's appends and a save's sync, which is in a thread."""
        self._syncing = threading.Lock()
        """Held while the descriptor has to stay the same."""
        part_from_others(path)
        self._fd = open_regular(path, os.O_RDWR | os.O_CREAT, follows_links=False)
        try:
            self._close_tail(loaded)
        except OSError:
            os.close(self._fd)
            raise
        self._known = os.fstat(self._fd)

    @property
    def _end(self) -> int:
        """The offset of the closing bracket."""
        return len(self._written)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one record; on `OSError` it stays in `pending` and the file as it was."""
        self.pending.append(encode_record(record))
        self.flush()

    def flush(self) -> None:
        """Write what is pending, in one write; raises `OSError` and keeps it if that fails.

        Looks first whether the file is the one that was left, and mends it (`mended`).
        """
        if self._is_changed():
            with self._syncing:
                self._mend()
        if not self.pending:
            return
        lead = b"\n" if self._is_empty else b",\n"
        body = lead + b",\n".join(self.pending)
        with self._lock:
            try:
                written = os.pwrite(self._fd, body + _CLOSE, self._end)
                if written < len(body) + len(_CLOSE):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            except OSError:
                self._has_failed = True
                self._restore_close()
                raise
            self._written += body
            self._has_failed = self._is_empty = False
        self.pending.clear()

    def sync(self) -> None:
        """Make all that was written durable, from any thread; raises `OSError`."""
        with self._syncing:
            self._mend()
            with self._lock:
                if self._must_rewrite:
                    self._rewrite()
                end = self._end
            try:
                os.fsync(self._fd)
            except OSError:
                self._must_rewrite = True
                raise
            self._durable_end, self._must_rewrite = end, False

    def _is_changed(self) -> str:
        """What became of the file that was left, in words; empty where it is that."""
        if self._has_failed:
            return ""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return "was removed"
        if not os.path.samestat(found, self._known):
            return "was replaced"
        size = self._end + len(_CLOSE)
        if found.st_size != size:
            return f"was changed ({found.st_size:,} bytes instead of {size:,})"
        return ""

    def _mend(self) -> None:
        """Write the file whole again where it is not the one that was left; raises `OSError`."""
        with self._lock:
            if not (what := self._is_changed()):
                return
            kept = replace_keeping(self.path, bytes(self._written) + _CLOSE, "foreign")
            fd = open_regular(self.path, os.O_RDWR, follows_links=False)
            os.close(self._fd)
            self._fd, self._known = fd, os.fstat(fd)
            self._durable_end, self._must_rewrite = self._end, False
            self.mended = Mended(path=self.path, what=what, kept_as=kept)

    def close(self) -> None:
        os.close(self._fd)

    def _rewrite(self) -> None:
        """Write the same bytes again: after a failed fsync the kernel takes lost pages for clean,
        and the next fsync would succeed without them.
        """
        n_bytes = self._end + len(_CLOSE) - self._durable_end
        os.pwrite(self._fd, os.pread(self._fd, n_bytes, self._durable_end), self._durable_end)

    def _restore_close(self) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end + len(_CLOSE))
            os.pwrite(self._fd, _CLOSE, self._end)

    def _close_tail(self, loaded: Loaded[Any]) -> None:
        tail = loaded.data[loaded.end :]
        close = _CLOSE if loaded.records else _OPEN + _CLOSE
        if tail == close:
            return
        if tail.strip(b"[], \r\n"):
            self._keep_torn(tail)
        os.ftruncate(self._fd, loaded.end)
        os.pwrite(self._fd, close, loaded.end)
        os.fsync(self._fd)
        if not loaded.data:
            sync_directory(self.path.parent)

    def _keep_torn(self, tail: bytes) -> None:
        number = 1
        while (kept := self.path.with_name(f"{self.path.name}.torn-{number}")).exists():
            number += 1
        write_atomic(kept, tail)
        self.repair = Repair(path=self.path, torn_bytes=len(tail), kept_as=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Generic[T]):
    """What a look at a followed array brought."""

    records: list[T] = field(default_factory=list)
    is_restarted: bool = False
    """The file was replaced or cut: all records seen so far are void, these are from the start."""
    has_more: bool = False
    """There is more to read at once: the look was bounded."""
    damaged_lines: int = 0
    """Lines that can't be read though others follow them."""


class RecordTail(Generic[T]):
    """The reading end: each look brings the whole records that are new, however long the file."""

    @overload
    def __init__(self: "RecordTail[Record]", path: Path) -> None: ...
    @overload
    def __init__(self, path: Path, read: Reader[T]) -> None: ...
    def __init__(self, path: Path, read: Reader[Any] = read_records) -> None:
        self.path = path
        self._read = read
        self.digest: hashlib._Hash | None = None
        """Takes in every byte up to the offset, where it was set before the first of them; `None`
        once some were passed over, or the file is another.
        """
        self._offset = 0
        self._mark = b""
        """The bytes just before the offset: while they stand there, it is the file known."""
        self._identity: tuple[int, int] | None = None
        self._widest_bytes = 0
        """The window to go on with inside a part that no record is in, so that it is read once."""

    @property
    def offset(self) -> int:
        """Just behind the last record that was read."""
        return self._offset

    @property
    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file that was read last."""
        return self._identity

    def pass_to(self, offset: int) -> None:
        """Read on from there as if what lies before had been read; raises `OSError`."""
        with reading(self.path, follows_links=False) as file:
            stat = os.fstat(file.fileno())
            start = max(offset - _MARK_BYTES, 0)
            self._mark = os.pread(file.fileno(), offset - start, start)
        self._offset, self._identity = offset, (stat.st_dev, stat.st_ino)

    def look(self, max_bytes: int = _READ_BYTES) -> News[T]:
        """Read on from the last whole record; a torn, missing or unreadable file is no error."""
        try:
            with reading(self.path, follows_links=False) as file:
                return self._look(file.fileno(), max_bytes)
        except OSError:
            is_restarted = self._offset > 0
            self._offset, self._mark, self._identity, self.digest = 0, b"", None, None
            return News(is_restarted=is_restarted)

    def _look(self, fd: int, max_bytes: int) -> News[T]:
        stat = os.fstat(fd)
        is_restarted = self._is_another(fd, (stat.st_dev, stat.st_ino))
        if is_restarted:
            self._offset, self._mark, self.digest = 0, b"", None
        self._identity = (stat.st_dev, stat.st_ino)
        if self._widest_bytes:
            max_bytes = self._widest_bytes
            self._pass_hole(fd, stat.st_size)
        while True:
            data = os.pread(fd, max_bytes, self._offset)
            records, end, damaged = parse_lines(data, self._read)
            n_unread = 0 if records else data.lstrip(b"], \r\n").count(b"\n")
            if n_unread > _TORN_LINES:  # no write under way, nor its remains
                end, damaged = data.rfind(b"\n") + 1, n_unread
            if records or end or len(data) < max_bytes or max_bytes > _LONGEST_BYTES:
                break
            max_bytes *= 2  # a record, or a damaged part, longer than the window
        if not end and len(data) > _LONGEST_BYTES:
            # No record is that long: a hole of zeros, or no records at all.
            end, damaged = data.rfind(b"\n") + 1 or len(data), damaged + 1
        self._widest_bytes = max_bytes if len(data) > _LONGEST_BYTES and not records else 0
        if end:
            self._offset += end
            if self.digest is not None:
                self.digest.update(memoryview(data)[:end])
            self._mark = data[max(end - _MARK_BYTES, 0) : end]
        return News(
            records=records,
            is_restarted=is_restarted,
            has_more=len(data) == max_bytes,
            damaged_lines=damaged,
        )

    def _pass_hole(self, fd: int, n_bytes: int) -> None:
        """On to where the file has data again, which it need not have: lseek(2), SEEK_DATA."""
        try:
            data_at = os.lseek(fd, self._offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # a file system that can't tell
                return
            data_at = n_bytes
        if data_at - self._offset > _MARK_BYTES:
            self._offset, self._mark, self.digest = data_at, bytes(_MARK_BYTES), None

    def _is_another(self, fd: int, identity: tuple[int, int]) -> bool:
        if not self._offset:
            return False
        n_bytes = len(self._mark)
        is_known = os.pread(fd, n_bytes, self._offset - n_bytes) == self._mark
        return identity != self._identity or not is_known


def canonical(records: Iterable[Record]) -> dict[int, Record]:
    """The last record of each step, by step ascending: the history as readers take it."""
    last = {record["step"]: record for record in records if type(record.get("step")) is int}
    steps = sorted(last)
    return last if steps == list(last) else {step: last[step] for step in steps}
