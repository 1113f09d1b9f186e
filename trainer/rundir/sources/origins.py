"""Where each row of a source's tokens comes from: file, line or row, document.

`….origins.bin` beside the tokens has 16 bytes a document, in the order of the tokens: where its
training tokens end, and where it begins in the files. It is memory-mapped and searched, never read
whole.
"""

import mmap
import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.reading import reading
from trainer.rundir.sources.prepared import TokenIndex, file_name, origins_path, read_index

ORIGIN = struct.Struct("<QQ")
"""Training tokens up to the document's end; `packed` file and row."""

_ROW_BITS = 36


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
    path = origins_path(folder, index)
    if not path.exists():
        raise SourceError(
            f"{shown(folder)}: was prepared by a version that did not keep where its rows come from"
        )
    with reading(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _found(folder, index, data, row * context, row * context + context + 1)


def _found(
    folder: Path, index: TokenIndex, data: mmap.mmap, begin: int, end: int
) -> tuple[Origin, ...]:
    def end_of(document: int) -> int:
        return _at(data, document)[0] if document >= 0 else 0

    n_documents = len(data) // ORIGIN.size
    document = bisect_right(range(n_documents), begin, key=end_of)
    found = []
    while document < n_documents and end_of(document - 1) < end:
        first, last = max(end_of(document - 1), begin), min(end_of(document), end)
        if first < last:  # else all of it is held out
            file, row = divmod(_at(data, document)[1], 1 << _ROW_BITS)
            found.append(
                Origin(
                    document=document + 1,
                    file=file_name(folder, index, file),
                    row=row,
                    begin=first - begin,
                    end=last - begin,
                )
            )
        document += 1
    return tuple(found)


def _at(data: mmap.mmap, document: int) -> tuple[int, int]:
    end, where = ORIGIN.unpack_from(data, document * ORIGIN.size)
    return end, where
