"""Append-only JSON arrays: `[`, one record a line, `]`; written, repaired and followed.

At rest the file is one valid JSON document. Appending overwrites the closing bracket only, in
one write, so its cost does not depend on the file's length and no earlier byte ever changes.
"""

import contextlib
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.atomic import write_atomic
from trainer.rundir.outcomes import HistoryError

Record = dict[str, Any]
_OPEN = b"["
_CLOSE = b"\n]\n"
_READ_BYTES = 4 << 20


def encode_record(record: Mapping[str, Any]) -> bytes:
    """One line of strict JSON: a float that is not finite becomes null, named in `nonfinite`."""
    nonfinite = {
        key: str(value).replace("nan", "NaN").replace("inf", "Infinity")
        for key, value in record.items()
        if isinstance(value, float) and not math.isfinite(value)
    }
    if nonfinite:
        record = {**record, **dict.fromkeys(nonfinite), "nonfinite": nonfinite}
    return orjson.dumps(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What was cut from the end of an array after a crash, and where the bytes are kept."""

    path: Path
    torn_bytes: int
    kept_as: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """All whole records of a file, and the offset just behind the last one."""

    records: list[Record]
    end: int
    size: int


def load_records(path: Path) -> Loaded:
    """Read a whole array; records end at the first line that is not whole (see `Loaded.end`).

    A missing or empty file holds no record. Raises `HistoryError` for a valid document that is
    not laid out one record a line.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    records, end, _ = _parse_lines(data, 0)
    if not records and _is_filled_array(data):
        raise HistoryError(f"{path}: not one record a line; write it so again with `jq -c`")
    return Loaded(records=records, end=end or len(_OPEN), size=len(data))


def _is_filled_array(data: bytes) -> bool:
    try:
        return bool(orjson.loads(data))
    except orjson.JSONDecodeError:
        return False


def _parse_lines(data: bytes, start: int) -> tuple[list[Record], int, int]:
    """Whole records in `data` up to the first that is not; its end; where the bad line begins.

    A line is whole when its newline is there: the closing bracket stands on a line of its own.
    """
    stop = data.rfind(b"\n") + 1
    body = data[:stop]
    end = body.rfind(b"}") + 1
    if not end:
        return [], start, -1
    inner = body[:end].lstrip(b"[, \n")
    try:
        records = orjson.loads(b"[" + inner + b"]")
    except orjson.JSONDecodeError:
        records = None
    if records and inner.count(b"\n") == len(records) - 1:
        return records, start + end, -1
    return _parse_line_by_line(body, start)


def _parse_line_by_line(body: bytes, start: int) -> tuple[list[Record], int, int]:
    records: list[Record] = []
    end = position = 0
    for line in body.split(b"\n")[:-1]:
        content = line.rstrip(b" ,\r")
        if content not in (b"", b"[", b"]"):
            record = _parse_record(content)
            if record is None:
                return records, start + end, start + position
            records.append(record)
            end = position + len(content)
        position += len(line) + 1
    return records, start + end, -1


def _parse_record(content: bytes) -> Record | None:
    try:
        record = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


class RecordArray:
    """The writing end of an array; one process at a time (the trainer's lock sees to that)."""

    def __init__(self, path: Path) -> None:
        """Open or make the file and cut a torn tail; raises `OSError` or `HistoryError`."""
        self.path = path
        loaded = load_records(path)
        self.records = loaded.records
        """The records found at opening, in file order; the caller may drop them."""
        self.repair: Repair | None = None
        self.pending: list[bytes] = []
        """Encoded records that found no room on the disk yet; written before the next one."""
        self._is_empty = not loaded.records
        self._end = loaded.end
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._close_tail(loaded)
        except OSError:
            os.close(self._fd)
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one record; on `OSError` it stays in `pending` and the file as it was."""
        self.pending.append(encode_record(record))
        self.flush()

    def flush(self) -> None:
        """Write what is pending, in one write; raises `OSError` and keeps it if that fails."""
        if not self.pending:
            return
        lead = b"\n" if self._is_empty else b",\n"
        body = lead + b",\n".join(self.pending)
        try:
            written = os.pwrite(self._fd, body + _CLOSE, self._end)
            if written < len(body) + len(_CLOSE):
                raise OSError(28, "No space left on device", str(self.path))
        except OSError:
            self._restore_close()
            raise
        self._end += len(body)
        self._is_empty = False
        self.pending.clear()

    def sync(self) -> None:
        """Make all that was written durable, from any thread; raises `OSError`."""
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)

    def _restore_close(self) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end + len(_CLOSE))
            os.pwrite(self._fd, _CLOSE, self._end)

    def _close_tail(self, loaded: Loaded) -> None:
        tail = os.pread(self._fd, loaded.size, self._end) if loaded.size > self._end else b""
        if tail.strip() == b"]" and loaded.size:
            if tail != _CLOSE:
                self._write_close()
            return
        if tail.strip(b" \n,"):
            self._keep_torn(tail)
        if not loaded.size or self._is_empty:
            os.pwrite(self._fd, _OPEN, 0)
        self._write_close()
        os.fsync(self._fd)

    def _write_close(self) -> None:
        os.ftruncate(self._fd, self._end)
        os.pwrite(self._fd, _CLOSE, self._end)

    def _keep_torn(self, tail: bytes) -> None:
        number = 1
        while (kept := self.path.with_name(f"{self.path.name}.torn-{number}")).exists():
            number += 1
        write_atomic(kept, tail)
        self.repair = Repair(path=self.path, torn_bytes=len(tail), kept_as=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a look at a followed array brought."""

    records: list[Record] = field(default_factory=list)
    is_restarted: bool = False
    """The file was replaced or cut: all records seen so far are void, these are from the start."""
    has_more: bool = False
    """There is more to read at once: the look was bounded."""
    damaged_lines: int = 0
    """Lines that can't be read though others follow them."""


class RecordTail:
    """The reading end: each look brings the whole records that are new, however long the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._identity: tuple[int, int] | None = None

    def look(self, max_bytes: int = _READ_BYTES) -> News:
        """Read on from the last whole record; a torn or missing file is no error."""
        try:
            with self.path.open("rb") as file:
                return self._look(file.fileno(), max_bytes)
        except (FileNotFoundError, PermissionError):
            is_restarted = self._offset > 0
            self._offset, self._identity = 0, None
            return News(is_restarted=is_restarted)

    def _look(self, fd: int, max_bytes: int) -> News:
        stat = os.fstat(fd)
        is_restarted = self._is_another(fd, (stat.st_dev, stat.st_ino), stat.st_size)
        if is_restarted:
            self._offset = 0
        self._identity = (stat.st_dev, stat.st_ino)
        data = os.pread(fd, max_bytes, self._offset)
        has_more = len(data) == max_bytes
        records, end, bad = _parse_lines(data, self._offset)
        damaged = 0
        while bad >= 0 and (after := data.find(b"\n", bad - self._offset) + 1):
            more, more_end, next_bad = _parse_lines(data[after:], self._offset + after)
            if not more and next_bad < 0:
                break
            records += more
            damaged += 1
            end, bad = (more_end if more else end), next_bad
        self._offset = end
        has_more = has_more and (bool(records) or damaged > 0)
        return News(
            records=records, is_restarted=is_restarted, has_more=has_more, damaged_lines=damaged
        )

    def _is_another(self, fd: int, identity: tuple[int, int], size: int) -> bool:
        if self._identity is None or not self._offset:
            return False
        if identity != self._identity or size < self._offset:
            return True
        return os.pread(fd, 1, self._offset - 1) != b"}"


def canonical(records: Iterable[Record]) -> dict[int, Record]:
    """The last record of each step, by step ascending: the history as readers take it."""
    last = {record["step"]: record for record in records if isinstance(record.get("step"), int)}
    return dict(sorted(last.items()))
