"""Decide which documents are held out of training, by a hash of their text alone."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from trainer.rundir.sources.documents import SourceError

HELD_OUT_SHARE = 0.01

_BY_HASH = int(HELD_OUT_SHARE * 2**64).to_bytes(8)
_NONE = b""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What one reading of a source tells: its identity, its size, and what is held out."""

    fingerprint: str
    """sha256 of the documents' sha256s, in order: the identity of the source's text."""
    documents: int
    held_out_documents: int
    text_bytes: int
    bound: bytes
    """Every document whose sha256 is not above this is held out."""

    def is_held_out(self, digest: bytes) -> bool:
        """Whether the document with this sha256 belongs to the held-out text."""
        return digest <= self.bound


def digest_of(document: str) -> bytes:
    """The sha256 of a document: it alone decides on which side the document lands."""
    return hashlib.sha256(document.encode()).digest()


def survey(documents: Iterable[str]) -> Survey:
    """Read a source once and settle what is held out.

    1 % of the documents by hash, so identical documents land on the same side, also over
    several sources. Where that takes none, or all, and there are two different documents, the
    one with the smallest hash is held out.

    Raises:
        SourceError: there is no document.
    """
    whole = hashlib.sha256()
    count = by_hash = smallest_count = text_bytes = 0
    smallest = b"\xff" * 33
    for document in documents:
        data = document.encode()
        digest = hashlib.sha256(data).digest()
        whole.update(digest)
        count += 1
        text_bytes += len(data)
        by_hash += digest <= _BY_HASH
        smallest_count = 1 if digest < smallest else smallest_count + (digest == smallest)
        smallest = min(smallest, digest)
    if not count:
        raise SourceError("there is no text in it")
    held_out, bound = smallest_count, smallest
    if 0 < by_hash < count:
        held_out, bound = by_hash, _BY_HASH
    elif smallest_count == count:
        held_out, bound = 0, _NONE
    return Survey(
        fingerprint=whole.hexdigest(),
        documents=count,
        held_out_documents=held_out,
        text_bytes=text_bytes,
        bound=bound,
    )
