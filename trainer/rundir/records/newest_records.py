"""The newest records of an array, read from the file's end: cheap however long the history is."""

import os
from pathlib import Path

import orjson

from trainer.rundir.reading import reading
from trainer.rundir.records.record_file import Record

_TAIL_BYTES = 1 << 16


def tail_records(path: Path) -> list[Record]:
    """The whole records in the file's last 64 KiB, in file order. Raises `OSError`."""
    try:
        with reading(path, follows_links=False) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return []
    records = []
    for line in tail.split(b"\n"):
        try:
            record = orjson.loads(line.strip(b"[], \r"))
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def last_record(path: Path) -> Record | None:
    """The last whole record in file order; None if there is none. Raises `OSError`."""
    records = tail_records(path)
    return records[-1] if records else None
