"""An array's first record and its newest, read from the file's ends: cheap however long it is."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson

from trainer.rundir.reading import reading
from trainer.rundir.records.record_file import Record

_END_BYTES = 1 << 16
_MOST_BYTES = 1 << 24
"""How far back a record is looked for, where a power cut left zeros at the end."""
_MOST_LINES = 1_000
"""Damaged lines that a record is looked for before; a crash leaves a few."""


def opening(path: Path) -> tuple[bool, Record | None]:
    """Whether the file begins as an array does, and its first record. Raises `OSError`."""
    with reading(path, follows_links=False) as file:
        head = file.read(_END_BYTES)
    records = (_record(line) for line in head.split(b"\n"))
    return head.startswith(b"["), next((r for r in records if r is not None), None)


def tail_records(path: Path) -> list[Record]:
    """The whole records in the file's last 64 KiB, in file order. Raises `OSError`."""
    tail, _ = _tail(path, _END_BYTES)
    records = (_record(line) for line in tail.split(b"\n"))
    return [record for record in records if record is not None]


def last_record(path: Path) -> Record | None:
    """The last whole record in file order; None if there is none. Raises `OSError`."""
    n_bytes = _END_BYTES
    while True:
        tail, is_all = _tail(path, n_bytes)
        records = map(_record, islice(_lines_with_an_end(tail), _MOST_LINES))
        last = next((record for record in records if record is not None), None)
        if last is not None or is_all or n_bytes >= _MOST_BYTES:
            return last
        n_bytes *= 16


def _lines_with_an_end(tail: bytes) -> Iterator[bytes]:
    """The last first: those in which an object ends. Of others there may be a million."""
    start = len(tail)
    while (end := tail.rfind(b"}", 0, start)) >= 0:
        start = tail.rfind(b"\n", 0, end) + 1
        stop = tail.find(b"\n", end)
        yield tail[start:] if stop < 0 else tail[start:stop]


def _tail(path: Path, n_bytes: int) -> tuple[bytes, bool]:
    """The file's last bytes, nothing of a missing one, and whether they are the whole file."""
    try:
        with reading(path, follows_links=False) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - n_bytes))
            return file.read(n_bytes), size <= n_bytes
    except FileNotFoundError:
        return b"", True


def _record(line: bytes) -> Record | None:
    try:
        record = orjson.loads(line.strip(b"[], \r"))
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None
