"""Find exact duplicates among any number of documents: their hashes are sorted on disk.

16 bytes a document: 96 bits of its sha256 and its number. Two documents that differ are taken for
one with a chance of 10^-13 among 10^8.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.preparation.documents import Records

_KEY = np.dtype([("high", "<u8"), ("low", "<u4"), ("number", "<u4")])

_BUCKET_KEYS = 1 << 20
_MOST_BUCKETS = 256
"""As many files are open at a time."""


def mark_duplicates(
    chunks: Iterable[Records], n_documents: int, folder: Path, check: Callable[[], None]
) -> NDArray[np.bool_]:
    """Of each document, whether one with the same text came before: an array on disk.

    The hashes go to files by their first bits, each then small enough to be sorted in memory.
    Copies within a chunk are found before, so that no number of copies makes a file large.
    Files are made in `folder`, as `duplicates.*.partial`. Raises `OSError`.
    """
    marks = np.memmap(folder / "duplicates.partial", np.bool_, "w+", shape=(max(n_documents, 1),))
    n_buckets = min(1 + n_documents // _BUCKET_KEYS, _MOST_BUCKETS)
    paths = [folder / f"duplicates.{n}.partial" for n in range(n_buckets)]
    bounds = np.array([(n << 64) // n_buckets for n in range(1, n_buckets)], np.uint64)
    first = 0
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for records in chunks:
            check()
            keys = _mark(_keys(records, first), marks)
            first += len(records)
            ends = [*np.searchsorted(keys["high"], bounds).tolist(), len(keys)]
            for file, begin, end in zip(files, [0, *ends], ends, strict=False):
                file.write(keys[begin:end].tobytes())
    for path in paths:
        check()
        _mark(np.fromfile(path, _KEY), marks)
        path.unlink()
    return marks[:n_documents]


def _keys(records: Records, first: int) -> NDArray[np.void]:
    keys = np.empty(len(records), _KEY)
    digests = np.ascontiguousarray(records["digest"])
    keys["high"] = digests[:, :8].copy().view("<u8")[:, 0]
    keys["low"] = digests[:, 8:12].copy().view("<u4")[:, 0]
    keys["number"] = np.arange(first, first + len(records))
    return keys


def _mark(keys: NDArray[np.void], marks: NDArray[np.bool_]) -> NDArray[np.void]:
    """Mark all but the first of each hash; the first ones, sorted by hash."""
    ordered = keys[np.lexsort((keys["low"], keys["high"]))]  # stable: by number within a hash
    again = np.zeros(len(ordered), np.bool_)
    again[1:] = (ordered["high"][1:] == ordered["high"][:-1]) & (
        ordered["low"][1:] == ordered["low"][:-1]
    )
    marks[ordered["number"][again]] = True
    return ordered[~again]
