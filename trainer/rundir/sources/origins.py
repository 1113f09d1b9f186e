"""Where each row of a source's tokens comes from: file, line or row, document.

`….origins.bin` beside the tokens has 16 bytes a document, in the order of the tokens: where its
training tokens end, and where it begins in the files. It is memory-mapped and searched, never read
whole.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.reading import reading
from trainer.rundir.sources.prepared import TokenIndex, file_names, origins_path, read_index

ORIGIN = struct.Struct("<QQ")
"""Training tokens up to the document's end; `packed` file and row."""

_ROW_BITS = 36
_CHUNK_DOCUMENTS = 1 << 20


def packed(file: int, row: int) -> int:
    """Number of a file, from 0, and of a row in it, from 1, as one number."""
    return file << _ROW_BITS | row


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A document of which a row has tokens."""

    document: int
    """Its number among the source's prepared documents, from 1."""
    file: str
    """Its name as the source's path has it; empty: a `python:` source."""
    row: int
    """From 1: the line where it begins (text, JSON lines), element (JSON array), or row (tables)
    of the file; of a `python:` source its document."""
    begin: int
    """Its first token in the row of tokens."""
    end: int
    """The one after its last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a document is from, as `Origin` tells it."""

    document: int = 0
    file: str = ""
    row: int = 0


class Places:
    """The places of a source's documents, by their numbers from 0; raises `OSError`."""

    def __init__(self, folder: Path, index: TokenIndex) -> None:
        self._names = file_names(folder, index)
        path = origins_path(folder, index)
        self.is_kept = path.exists()
        """Whether they are known: an earlier version kept none."""
        n_documents = path.stat().st_size // ORIGIN.size if self.is_kept else 0
        self._table = np.empty((0, 2), "<u8")
        """(documents, 2): training tokens up to its end, and `packed` file and row."""
        if n_documents:
            with reading(path) as file:
                self._table = np.memmap(file, "<u8", mode="r", shape=(n_documents, 2))

    def __len__(self) -> int:
        return len(self._table)

    def document_at(self, token: int) -> int:
        """The one that has this training token."""
        return bisect_right(range(len(self)), token, key=lambda each: self.span(each)[1])

    def span(self, document: int) -> tuple[int, int]:
        """Its training tokens; none of them where all of it is held out."""
        begin = int(self._table[document - 1, 0]) if document else 0
        return begin, int(self._table[document, 0])

    def place(self, document: int) -> Place:
        """Where it is from."""
        file, row = divmod(int(self._table[document, 1]), 1 << _ROW_BITS)
        name = self._names[file] if file < len(self._names) else ""
        return Place(document=document + 1, file=name, row=row)

    def of_file(self, name: str, row: int | None = None) -> Iterator[int]:
        """Those of the files of this name, or whose path ends with it; `row`: that one alone."""
        ending = f"/{name.lstrip('/')}"
        files = [n for n, each in enumerate(self._names) if f"/{each}".endswith(ending)]
        for start in range(0, len(self) if files else 0, _CHUNK_DOCUMENTS):
            where = self._table[start : start + _CHUNK_DOCUMENTS, 1]
            is_wanted = np.isin(where >> np.uint64(_ROW_BITS), files)
            if row is not None:
                is_wanted &= (where & np.uint64((1 << _ROW_BITS) - 1)) == row
            yield from (start + np.flatnonzero(is_wanted)).tolist()


def origin_of(folder: Path, row: int, *, context: int, text: str = "") -> tuple[Origin, ...]:
    """The documents that training row `row` (from 0) of the tokens in `folder` is made of.

    The row has `context` tokens and the target of the last. `text`: as for `read_index`.

    Raises:
        SourceError: there are no tokens, no such row, or they were made by a version that kept no
            origins.
        OSError: they can't be read.
    """
    index = read_index(folder, text)
    if index is None:
        raise SourceError(f"{shown(folder)}: there are no prepared tokens")
    if not 0 <= row < index.train_rows(context):
        raise SourceError(f"{shown(folder)}: has no row {row:,}, of {index.train_rows(context):,}")
    places = Places(folder, index)
    if not places.is_kept:
        raise SourceError(
            f"{shown(folder)}: was prepared by a version that did not keep where its rows come from"
        )
    return tuple(_origins(places, row * context, row * context + context + 1))


def _origins(places: Places, begin: int, end: int) -> Iterator[Origin]:
    for document in range(places.document_at(begin), len(places)):
        its_begin, its_end = places.span(document)
        if its_begin >= end:
            return
        first, last = max(its_begin, begin), min(its_end, end)
        if first < last:  # else all of it is held out
            place = places.place(document)
            yield Origin(
                document=place.document,
                file=place.file,
                row=place.row,
                begin=first - begin,
                end=last - begin,
            )
