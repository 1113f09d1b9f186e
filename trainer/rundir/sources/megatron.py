"""The index beside Megatron's tokens: where its documents end."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.content import readable

_MAGIC = b"MMIDIDX\0\0"
_HEADER_BYTES = 34
_DTYPES = {1: "<u1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What an .idx file tells; its arrays are read in pieces."""

    path: Path
    dtype: str
    sequences: int
    documents: int
    tokens: int

    def document_ends(self) -> Iterator[NDArray[np.int64]]:
        """Where each document ends, in tokens, in ascending order; raises `SourceError`."""
        item_bytes = np.dtype(self.dtype).itemsize
        for begin in range(1, self.documents + 1, _AT_ONCE):
            last = self._document_bounds(begin, min(_AT_ONCE, self.documents + 1 - begin))
            if (last[1:] < last[:-1]).any() or last[0] < 0 or last[-1] > self.sequences:
                raise SourceError(f"{shown(self.path)}: is damaged: its documents are out of order")
            yield self._pointers(last) // item_bytes

    def require_in_order(self) -> None:
        """Raise `SourceError` unless one sequence follows the other, as Megatron writes them."""
        item_bytes, at = np.dtype(self.dtype).itemsize, 0
        for begin in range(0, self.sequences, _AT_ONCE):
            n = min(_AT_ONCE, self.sequences - begin)
            sizes = self._read("<i4", _HEADER_BYTES + 4 * begin, n).astype(np.int64) * item_bytes
            pointers = self._read("<i8", self._pointers_at + 8 * begin, n)
            if (pointers != at + np.cumsum(sizes) - sizes).any():
                raise SourceError(
                    f"{shown(self.path)}: its sequences don't follow each other in the .bin file;"
                    " write both anew (Megatron's preprocess_data or merge_datasets)"
                )
            at += int(sizes.sum())
        if at != self.tokens * item_bytes:
            raise SourceError(
                f"{shown(self.path)}: tells of {at:,} bytes of tokens, and the .bin file has"
                f" {self.tokens * item_bytes:,}: one of them is cut off, or of another file"
            )

    @property
    def _pointers_at(self) -> int:
        return _HEADER_BYTES + 4 * self.sequences

    def _document_bounds(self, begin: int, n: int) -> NDArray[np.int64]:
        return self._read("<i8", self._pointers_at + 8 * (self.sequences + begin), n)

    def _pointers(self, sequences: NDArray[np.int64]) -> NDArray[np.int64]:
        """The byte at which each sequence begins; behind the last, the end of all."""
        first, last = int(sequences[0]), int(sequences[-1])
        n = min(last + 1, self.sequences) - first
        there = self._read("<i8", self._pointers_at + 8 * first, n)
        end = self.tokens * np.dtype(self.dtype).itemsize
        return np.append(there, end)[sequences - first]

    def _read(self, dtype: str, offset: int, n: int) -> NDArray[np.int64]:
        with readable(self.path):
            read = np.fromfile(self.path, dtype, n, offset=offset)
        if len(read) < n:
            raise SourceError(f"{shown(self.path)}: is cut off; put it there again")
        return read


def open_index(path: Path, bin_bytes: int) -> Index:
    """The index of a .bin file of that size; raises `SourceError`."""
    with readable(path), path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise SourceError(f"{shown(path)}: is no index of Megatron's tokens; move it away")
    version = int.from_bytes(header[9:17], "little")
    code = header[17]
    if version != 1 or code not in _DTYPES:
        raise SourceError(
            f"{shown(path)}: version {version} and type {code} of Megatron's index are not known"
        )
    dtype = _DTYPES[code]
    index = Index(
        path=path,
        dtype=dtype,
        sequences=int.from_bytes(header[18:26], "little"),
        documents=int.from_bytes(header[26:34], "little") - 1,
        tokens=bin_bytes // np.dtype(dtype).itemsize,
    )
    if not index.tokens:
        raise SourceError(f"{shown(path)}: there are no tokens beside it")
    index.require_in_order()
    return index
