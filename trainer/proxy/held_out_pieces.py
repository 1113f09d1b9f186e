"""Of a large source only so many tokens are held out: those of the pieces with the least hashes.

The others in the lowest 1 % are trained on nowhere all the same. They may be held out of a smaller
source, today or by a later pivot, and which those are can't be known: so the side of a text is its
own hash's alone, whatever the sources, their number and their order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.held_out import BY_HASH, MOST_HELD_OUT_SHARE, Hashed, HashedTokens

_HASH_BYTES = 8
"""Of a sha256: two different pieces of a source have the same by a chance of 1 in 10^9."""

_PIECE = np.dtype([("hash", ">u8"), ("tokens", "<u4"), ("document", "<u8")])


class OrderedPieces:
    """The pieces of a source, or of a unit of it, in the lowest 1 %: as they stand in its tokens.

    20 bytes each in memory, some 20 MB for 100 GB of text.
    """

    def __init__(self) -> None:
        self._documents = 0
        self._hashes: list[bytes] = []
        self._of: list[int] = []
        self._merged: list[NDArray[Any]] = []

    def add(self, document: Hashed | HashedTokens) -> None:
        """One document."""
        for digest, piece in document:
            is_blank = isinstance(piece, str) and not piece.strip()  # it becomes no token
            if digest <= BY_HASH and not is_blank:
                self._hashes.append(digest[:_HASH_BYTES])
                self._of.append(self._documents)
        self._documents += 1

    def told(self, tokens: Sequence[int]) -> dict[str, Any]:
        """As JSON, for `merge`; `tokens`: how many each of the pieces has become."""
        return {
            "documents": self._documents,
            "hashes": b"".join(self._hashes).hex(),
            "of": self._of,
            "tokens": list(tokens),
        }

    def merge(self, told: dict[str, Any]) -> None:
        """What the source's next unit has."""
        pieces = np.empty(len(told["of"]), _PIECE)
        pieces["hash"] = np.frombuffer(bytes.fromhex(told["hashes"]), ">u8")
        pieces["tokens"] = told["tokens"]
        pieces["document"] = np.array(told["of"], np.uint64) + np.uint64(self._documents)
        self._merged.append(pieces)
        self._documents += told["documents"]

    def settle(
        self, most_tokens: int, train_tokens: int, dropped: NDArray[np.bool_] | None = None
    ) -> "Kept":
        """Which stay held out: those with the least hashes, up to `most_tokens`, and to 5 % of all
        the source's tokens; all copies of a piece or none.

        `dropped`: of each document, whether its tokens are not there any more.
        """
        pieces = np.concatenate(self._merged) if self._merged else np.empty(0, _PIECE)
        if dropped is not None:
            pieces = pieces[~dropped[pieces["document"]]]
        hashes, which = np.unique(pieces["hash"].astype(np.uint64), return_inverse=True)
        of_each = np.zeros(len(hashes), np.int64)
        np.add.at(of_each, which, pieces["tokens"].astype(np.int64))
        total = train_tokens + int(of_each.sum())
        most = min(most_tokens, int(MOST_HELD_OUT_SHARE * total))
        is_kept = (np.cumsum(of_each) <= most)[which]
        return Kept(pieces, is_kept)


class Kept:
    """What of a source's tokens in the lowest 1 % stays held out."""

    def __init__(self, pieces: NDArray[Any], is_kept: NDArray[np.bool_]) -> None:
        self._ends = np.cumsum(pieces["tokens"].astype(np.int64))
        self._is_kept = is_kept
        self.documents = len(np.unique(pieces["document"][is_kept]))
        """Documents that have held-out text."""
        self.set_aside = int(pieces["tokens"][~is_kept].sum(dtype=np.int64))
        """Tokens that are neither held out nor trained on."""

    def spans(self) -> list[tuple[int, int]]:
        """From which token to which, of those in the lowest 1 %; none touches the next."""
        kept = np.concatenate([[False], self._is_kept, [False]]).astype(np.int8)
        first, beyond = np.flatnonzero(np.diff(kept) == 1), np.flatnonzero(np.diff(kept) == -1)
        starts = np.concatenate([[0], self._ends])
        return list(zip(starts[first].tolist(), starts[beyond].tolist(), strict=True))
