"""Find exact duplicates among any number of documents: their hashes are sorted on disk.

16 bytes a document: 96 bits of its sha256 and its number. Two documents that differ are taken for
one with a chance of 10^-13 among 10^8.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.preparation.documents import Records, read_records
from trainer.rundir.reading import reading

_KEY = np.dtype([("high", "<u8"), ("low", "<u4"), ("number", "<u4")])

_BUCKET_KEYS = 1 << 20
_MOST_BUCKETS = 256
"""As many files are open at a time."""
_COPIED_BYTES = 1 << 20


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


def copy_without(
    marks: NDArray[np.bool_],
    paths: Mapping[str, Path],
    folder: Path,
    check: Callable[[], None],
) -> tuple[dict[str, Path], dict[str, int]]:
    """Files `train`, `held_out` and `documents` without the marked documents, and their sizes.

    Made beside those that `paths` name, durably. Raises `OSError`.
    """
    made = {name: folder / f"kept.{name}.partial" for name in paths}
    first = 0
    ends = dict.fromkeys(("train", "held_out"), (0, 0))
    with ExitStack() as stack:
        sources = {n: stack.enter_context(reading(paths[n])) for n in ends}
        files = {n: stack.enter_context(path.open("wb")) for n, path in made.items()}
        for records in read_records(paths["documents"]):
            check()
            is_kept = ~np.asarray(marks[first : first + len(records)])
            first += len(records)
            kept = records.copy()
            for name, (before, new_before) in ends.items():
                column = f"{name}_end"
                bounds = np.concatenate([[np.uint64(before)], records[column]])
                sizes = np.where(is_kept, np.diff(bounds), np.uint64(0))
                kept[column] = np.uint64(new_before) + np.cumsum(sizes, dtype=np.uint64)
                for begin, end in _runs(is_kept):
                    _copy(sources[name], files[name], int(bounds[begin]), int(bounds[end]))
                ends[name] = int(bounds[-1]), int(kept[column][-1])
            files["documents"].write(kept[is_kept].tobytes())
        for file in files.values():
            file.flush()
            os.fdatasync(file.fileno())
    return made, {name: path.stat().st_size for name, path in made.items()}


def _runs(is_kept: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Begin and end of each row of documents that are kept."""
    edges = np.flatnonzero(np.diff(is_kept, prepend=False, append=False))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _copy(source: BinaryIO, target: BinaryIO, begin: int, end: int) -> None:
    source.seek(begin)
    while begin < end:
        data = source.read(min(_COPIED_BYTES, end - begin))
        target.write(data)
        begin += len(data)
