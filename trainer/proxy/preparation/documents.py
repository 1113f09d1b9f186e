"""What a preparation knows of each document while it goes on: records on disk, never in memory."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainer.rundir.reading import reading

RECORD = np.dtype(
    [
        ("digest", "u1", 32),  # sha256 of the text
        ("text_bytes", "<u8"),
        ("origin", "<u8"),  # as `origins.packed`
        ("train_end", "<u8"),  # bytes of training tokens up to its end
        ("held_out_end", "<u8"),
    ]
)

Records: TypeAlias = NDArray[Any]
"""An array of `RECORD`."""

_CHUNK_RECORDS = 1 << 16


def records_of(
    digests: list[bytes],
    text_bytes: list[int],
    origins: list[int],
    train_bytes: list[int],
    held_out_bytes: list[int],
) -> bytes:
    """The records of a unit's documents, as if there were nothing before it."""
    records = np.zeros(len(digests), RECORD)
    records["digest"] = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    records["text_bytes"] = text_bytes
    records["origin"] = origins
    records["train_end"] = np.cumsum(train_bytes, dtype=np.uint64)
    records["held_out_end"] = np.cumsum(held_out_bytes, dtype=np.uint64)
    return records.tobytes()


def moved(data: bytes, *, train: int, held_out: int, rows: int) -> bytes:
    """The records behind so many bytes of tokens, and rows of the same file."""
    records = np.frombuffer(data, RECORD).copy()
    for column, by in (("train_end", train), ("held_out_end", held_out), ("origin", rows)):
        records[column] = (records[column].astype(np.int64) + by).astype(np.uint64)
    return records.tobytes()


def read_records(path: Path, chunk_records: int = _CHUNK_RECORDS) -> Iterator[Records]:
    """All of them, some at a time; raises `OSError`."""
    with reading(path) as file:
        while data := file.read(chunk_records * RECORD.itemsize):
            yield np.frombuffer(data, RECORD)


def fingerprint_of_records(chunks: Iterable[Records]) -> str:
    """As `fingerprint_of` the documents: sha256 of their sha256s."""
    whole = hashlib.sha256()
    for records in chunks:
        whole.update(records["digest"].tobytes())
    return whole.hexdigest()


def origins_of(records: Records, item_bytes: int) -> bytes:
    """What is kept of them for good: an `ORIGIN` each."""
    pairs = np.stack([records["train_end"] // np.uint64(item_bytes), records["origin"]], axis=1)
    return pairs.astype("<u8").tobytes()
