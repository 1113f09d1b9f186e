"""The newest record of an array, read from the file's end: cheap however long the history is."""

import os
from pathlib import Path

import orjson

from trainer.rundir.records import Record

_TAIL_BYTES = 1 << 16


def last_record(path: Path) -> Record | None:
    """The last whole record in file order; None if there is none. Raises `OSError`."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return None
    for line in reversed(tail.split(b"\n")):
        try:
            record = orjson.loads(line.strip(b"[], \r"))
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            return record
    return None
