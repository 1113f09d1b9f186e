"""Decide which text is held out of training, by a hash of the text alone.

So what is held out of one source is held out of all, whenever they come to the run, and tokens
that are made again are the same.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.pieces import pieces_of

T = TypeVar("T", str, bytes)

HELD_OUT_SHARE = 0.01
MOST_HELD_OUT_SHARE = 0.05
"""Of a source's text; of small ones more than 1 % can come out by chance."""

BY_HASH = int(HELD_OUT_SHARE * 2**64).to_bytes(8)
"""What has a sha256 not above this is held out, but where that is too much or nothing."""

_NONE = b""
ALL = b"\xff" * 33
"""All of a source is held out where this is the bound."""

Hashed: TypeAlias = list[tuple[bytes, str]]
"""A document as what is held out at a time: the sha256 that decides, and the text."""

HashedTokens: TypeAlias = list[tuple[bytes, bytes]]
"""The same of a document that is tokens already: little-endian uint32."""


def digest_of(document: str) -> bytes:
    """The sha256 of a document: it alone decides on which side the document lands."""
    return hashlib.sha256(document.encode()).digest()


def hashed(document: str, piece_characters: int, check: Callable[[], None] = never) -> Hashed:
    """The document by pieces of about that size, or (0) whole.

    `check` is called for each piece, of which a document may have a hundred thousand.
    """
    if not piece_characters:
        return [(digest_of(document), document)]
    pieces: Hashed = []
    for piece in pieces_of(document, piece_characters):
        check()
        pieces.append((digest_of(piece.strip()), piece))  # blank lines about it don't count
    return pieces


@dataclass(frozen=True, slots=True)
class Sides:
    """The line between what is trained on and what is held out."""

    bound: bytes
    """What has a sha256 not above this is held out."""
    by_pieces: bool
    apart: bool = False
    """Whether each piece that is held out is a stretch of its own: rules 4."""

    def segments(self, document: Hashed) -> Iterator[tuple[bool, str]]:
        """The document in stretches that are on one side: whether held out, and the text.

        What is held out elsewhere, but would here be more than a source's share, is in neither.
        """
        if not self.by_pieces:
            for digest, text in document:
                yield digest <= self.bound, text
            return
        for side, pieces in self.stretches(document):
            text = "".join(pieces)
            if text.strip():
                yield side, text

    def stretches(self, document: list[tuple[bytes, T]]) -> Iterator[tuple[bool, list[T]]]:
        """The pieces that are on one side: whether held out."""
        for side, stretch in groupby(document, key=lambda piece: self.side_of(piece[0])):
            pieces = [piece for _, piece in stretch]
            if side and self.apart:
                yield from ((side, [piece]) for piece in pieces)
            elif side is not None:
                yield side, pieces

    def side_of(self, digest: bytes) -> bool | None:
        """Whether a piece is held out; None: it is left out altogether."""
        if not self.by_pieces:
            return digest <= self.bound
        return True if digest <= self.bound else None if digest <= BY_HASH else False


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What one reading of a source tells: its identity, its size, and what is held out."""

    fingerprint: str
    """sha256 of the documents' sha256s, in order: the identity of the source's text."""
    documents: int
    held_out_documents: int
    """Documents that are held out, or have a piece that is."""
    text_bytes: int
    bound: bytes
    """What has a sha256 not above this is held out."""
    piece_characters: int = 0
    """About the size of what is held out at a time; 0: whole documents."""

    def segments(
        self, document: str, check: Callable[[], None] = never
    ) -> Iterator[tuple[bool, str]]:
        """As `Sides.segments`; `check` as in `hashed`."""
        sides = Sides(self.bound, self.piece_characters > 0)
        return sides.segments(hashed(document, self.piece_characters, check))


def survey(
    documents: Iterable[str], *, piece_characters: int = 0, check: Callable[[], None] = never
) -> Survey:
    """Read a source once and settle what is held out; `check` as in `hashed`.

    By pieces: those whose hash is in the lowest 1 %, wherever they stand. Where that is more than
    5 % of the source's text, those with the smallest hashes that are not; the others are left out
    of training all the same.

    By documents (`piece_characters` = 0): 1 % of them by hash. Where that takes none, or all, and
    there are two different documents, the one with the smallest hash is held out.

    Raises:
        SourceError: there is no document.
    """
    count = new_count(piece_characters)
    whole = hashlib.sha256()
    n_documents = text_bytes = 0
    for document in documents:
        whole.update(digest_of(document))
        n_documents += 1
        text_bytes += len(document.encode())
        count.add(hashed(document, piece_characters, check))
    if not n_documents:
        raise SourceError("there is no text in it")
    held_out_documents, bound = count.settle(n_documents, text_bytes)
    return Survey(
        fingerprint=whole.hexdigest(),
        documents=n_documents,
        held_out_documents=held_out_documents,
        text_bytes=text_bytes,
        bound=bound,
        piece_characters=piece_characters,
    )


class DocumentCount:
    """What of whole documents is held out: rules 1."""

    def __init__(self) -> None:
        self._by_hash = self._smallest_count = 0
        self._smallest = ALL

    def add(self, document: Hashed | HashedTokens) -> None:
        """One document."""
        for digest, _ in document:
            self._by_hash += digest <= BY_HASH
            self._take(digest, 1)

    def told(self) -> dict[str, Any]:
        """As JSON, for `merge`."""
        return {
            "by_hash": self._by_hash,
            "smallest": self._smallest.hex(),
            "smallest_count": self._smallest_count,
        }

    def merge(self, told: Mapping[str, Any]) -> None:
        """What another part of the source has counted."""
        self._by_hash += told["by_hash"]
        if told["smallest_count"]:
            self._take(bytes.fromhex(told["smallest"]), told["smallest_count"])

    def settle(self, n_documents: int, text_bytes: int) -> tuple[int, bytes]:
        """How many documents are held out, and the bound of their hashes."""
        if 0 < self._by_hash < n_documents:
            return self._by_hash, BY_HASH
        if self._smallest_count == n_documents:
            return 0, _NONE
        return self._smallest_count, self._smallest

    def divides_as(self, bound: bytes) -> bool:
        """Whether the bound parts the text as `BY_HASH` does."""
        return bound == BY_HASH

    def _take(self, digest: bytes, count: int) -> None:
        if digest < self._smallest:
            self._smallest, self._smallest_count = digest, count
        elif digest == self._smallest:
            self._smallest_count += count


class PieceCount:
    """What of a source's pieces is held out: rules 2."""

    def __init__(self) -> None:
        self._bytes: Counter[bytes] = Counter()
        """Text of each piece in the lowest 1 %, all its copies together: some MB of a 100 GB."""
        self._smallest: Counter[bytes] = Counter()
        """Documents by the smallest hash of their pieces, where that is in the lowest 1 %."""

    def add(self, document: Hashed | HashedTokens) -> None:
        """One document."""
        held_out = [(digest, piece) for digest, piece in document if digest <= BY_HASH]
        for digest, piece in held_out:
            self._bytes[digest] += len(piece.encode() if isinstance(piece, str) else piece)
        if held_out:
            self._smallest[min(digest for digest, _ in held_out)] += 1

    def told(self) -> dict[str, Any]:
        """As JSON, for `merge`."""
        return {
            "bytes": {digest.hex(): n for digest, n in self._bytes.items()},
            "smallest": {digest.hex(): n for digest, n in self._smallest.items()},
        }

    def merge(self, told: Mapping[str, Any]) -> None:
        """What another part of the source has counted."""
        for counter, name in ((self._bytes, "bytes"), (self._smallest, "smallest")):
            for digest, n in told[name].items():
                counter[bytes.fromhex(digest)] += n

    def settle(self, n_documents: int, text_bytes: int) -> tuple[int, bytes]:
        """How many documents have held-out text, and the bound of its pieces' hashes."""
        bound, room_bytes = _NONE, MOST_HELD_OUT_SHARE * text_bytes
        for digest, n_bytes in sorted(self._bytes.items()):
            room_bytes -= n_bytes
            if room_bytes < 0:
                break
            bound = digest
        return sum(n for digest, n in self._smallest.items() if digest <= bound), bound

    def divides_as(self, bound: bytes) -> bool:
        """Whether the bound parts the text as `BY_HASH` does."""
        return all(digest <= bound for digest in self._bytes)


def new_count(piece_characters: int) -> DocumentCount | PieceCount:
    """Nothing counted yet."""
    return PieceCount() if piece_characters else DocumentCount()
