"""Documents that are tokens already: on which side each piece of them is."""

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from trainer.proxy.held_out import HashedTokens, Sides

_WINDOW_TOKENS = 4
"""What a cut depends on: nothing farther away, so a passage is cut alike wherever it stands."""

_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
_HASHES = 2**64


def hashed_tokens(document: bytes, piece_tokens: int) -> HashedTokens:
    """The document (little-endian uint32) by pieces of about that many tokens, or (0) whole.

    Each with the sha256 that decides its side.
    """
    pieces = _pieces(document, piece_tokens) if piece_tokens else [document]
    return [(hashlib.sha256(piece).digest(), piece) for piece in pieces]


def token_segments(sides: Sides, pieces: HashedTokens) -> Iterator[tuple[bool, bytes]]:
    """The document in stretches that are on one side: whether held out, and the tokens."""
    for side, stretch in sides.stretches(pieces):
        yield side, b"".join(stretch)


def _pieces(document: bytes, piece_tokens: int) -> list[bytes]:
    tokens = np.frombuffer(document, "<u4").astype(np.uint64)
    drawn = np.zeros(len(tokens), np.uint64)
    for back, factor in enumerate(_FACTORS[:_WINDOW_TOKENS]):
        drawn[back:] += (tokens[: len(tokens) - back] + np.uint64(1)) * np.uint64(factor)
    drawn ^= drawn >> np.uint64(31)
    drawn *= np.uint64(_FACTORS[0])
    drawn ^= drawn >> np.uint64(33)
    cuts = np.flatnonzero(drawn < np.uint64(_HASHES // max(piece_tokens, 2))) + 1
    bounds = sorted({0, *(4 * cuts).tolist(), len(document)})
    return [document[begin:end] for begin, end in pairwise(bounds)]
