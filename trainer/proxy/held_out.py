"""Decide which text is held out of training, by a hash of the text alone.

So what is held out of one source is held out of all, whenever they come to the run, and tokens
that are made again are the same.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.pieces import pieces_of

HELD_OUT_SHARE = 0.01
MOST_HELD_OUT_SHARE = 0.05
"""Of a source's text; of small ones more than 1 % can come out by chance."""

_BY_HASH = int(HELD_OUT_SHARE * 2**64).to_bytes(8)
_NONE = b""


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

    def is_held_out(self, digest: bytes) -> bool:
        """Whether the text with this sha256 belongs to the held-out text."""
        return digest <= self.bound

    def segments(self, document: str) -> Iterator[tuple[bool, str]]:
        """The document in stretches that are on one side: whether held out, and the text.

        What is held out elsewhere, but would here be more than a source's share, is in neither.
        """
        if not self.piece_characters:
            yield self.is_held_out(digest_of(document)), document
            return
        digests = ((_piece_digest(p), p) for p in pieces_of(document, self.piece_characters))
        for side, stretch in groupby(digests, key=lambda piece: self._side(piece[0])):
            text = "".join(piece for _, piece in stretch)
            if side is not None and text.strip():
                yield side, text

    def _side(self, digest: bytes) -> bool | None:
        """Whether a piece is held out; None: it is left out altogether."""
        return True if self.is_held_out(digest) else None if digest <= _BY_HASH else False


def digest_of(document: str) -> bytes:
    """The sha256 of a document: it alone decides on which side the document lands."""
    return hashlib.sha256(document.encode()).digest()


def _piece_digest(piece: str) -> bytes:
    """That of a piece, whatever blank lines stand about it."""
    return digest_of(piece.strip())


def survey(documents: Iterable[str], *, piece_characters: int = 0) -> Survey:
    """Read a source once and settle what is held out.

    By pieces: those whose hash is in the lowest 1 %, wherever they stand. Where that is more than
    5 % of the source's text, those with the smallest hashes that are not; the others are left out
    of training all the same.

    By documents (`piece_characters` = 0): 1 % of them by hash. Where that takes none, or all, and
    there are two different documents, the one with the smallest hash is held out.

    Raises:
        SourceError: there is no document.
    """
    count = _PieceCount(piece_characters) if piece_characters else _DocumentCount()
    whole = hashlib.sha256()
    n_documents = text_bytes = 0
    for document in documents:
        data = document.encode()
        digest = hashlib.sha256(data).digest()
        whole.update(digest)
        n_documents += 1
        text_bytes += len(data)
        count.add(document, digest)
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


class _DocumentCount:
    """What of whole documents is held out: rules 1."""

    def __init__(self) -> None:
        self._by_hash = self._smallest_count = 0
        self._smallest = b"\xff" * 33

    def add(self, document: str, digest: bytes) -> None:
        self._by_hash += digest <= _BY_HASH
        is_smaller = digest < self._smallest
        self._smallest_count = (
            1 if is_smaller else self._smallest_count + (digest == self._smallest)
        )
        self._smallest = min(self._smallest, digest)

    def settle(self, n_documents: int, text_bytes: int) -> tuple[int, bytes]:
        """How many documents are held out, and the bound of their hashes."""
        if 0 < self._by_hash < n_documents:
            return self._by_hash, _BY_HASH
        if self._smallest_count == n_documents:
            return 0, _NONE
        return self._smallest_count, self._smallest


class _PieceCount:
    """What of a source's pieces is held out: rules 2."""

    def __init__(self, piece_characters: int) -> None:
        self._piece_characters = piece_characters
        self._bytes: Counter[bytes] = Counter()
        """Text of each piece in the lowest 1 %, all its copies together: some MB of a 100 GB."""
        self._smallest: Counter[bytes] = Counter()
        """Documents by the smallest hash of their pieces, where that is in the lowest 1 %."""

    def add(self, document: str, digest: bytes) -> None:
        smallest = b"\xff"
        for piece in pieces_of(document, self._piece_characters):
            of_piece = _piece_digest(piece)
            if of_piece <= _BY_HASH:
                self._bytes[of_piece] += len(piece.encode())
                smallest = min(smallest, of_piece)
        if smallest <= _BY_HASH:
            self._smallest[smallest] += 1

    def settle(self, n_documents: int, text_bytes: int) -> tuple[int, bytes]:
        """How many documents have held-out text, and the bound of its pieces' hashes."""
        bound, room_bytes = _NONE, MOST_HELD_OUT_SHARE * text_bytes
        for digest, n_bytes in sorted(self._bytes.items()):
            room_bytes -= n_bytes
            if room_bytes < 0:
                break
            bound = digest
        return sum(n for digest, n in self._smallest.items() if digest <= bound), bound
