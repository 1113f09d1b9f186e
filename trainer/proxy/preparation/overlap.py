"""Training text that shares 13 words in a row with a test set, found by their hashes.

A word is a stretch of ASCII letters, digits and all bytes beyond ASCII but general punctuation;
case counts beyond ASCII only. So line breaks, quotes and commas hide no copy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

WORDS = 13
"""In a row: chance gives so many alike in no two texts, a phrase or a title does in few."""

_CHUNK_BYTES = 1 << 20
"""That are looked at in a time: some 60 MB while it lasts, however long a document is."""

_TABLE_BITS = 22
"""Of a first look: of a million 13-grams it lets a quarter of all text through to the second."""

_DRAWN = np.random.Generator(np.random.PCG64(13)).integers(0, 2**64, 256 + WORDS, np.uint64)
_OF_BYTE, _OF_PLACE = _DRAWN[:256], _DRAWN[256:] | np.uint64(1)
_BASE = 0x9E3779B97F4A7C15
_MIX = np.uint64(0xBF58476D1CE4E5B9)

_IS_WORD = np.array([chr(b).isalnum() or b >= 0x80 for b in range(256)])
_PUNCTUATION = (b"\xe2\x80", b"\xe2\x81")
"""The first two of three bytes: U+2000 to U+207F."""


@dataclass(frozen=True, slots=True)
class Grams:
    """The 13-grams of a text, each by its hash, and where it begins and ends in bytes."""

    hashes: Hashes
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


def grams_of(documents: Sequence[bytes]) -> Iterator[Grams]:
    """Those of documents in UTF-8, none across two; places as if a byte stood between two."""
    data = b"\n".join(documents).lower()
    bounds = np.cumsum([len(document) + 1 for document in documents])
    begin = 0
    while begin < len(data):
        begins, ends, words = _words(data, begin)
        last = begin + _CHUNK_BYTES >= len(data)
        if len(words) >= WORDS:
            hashes, before = _hashes(words), np.searchsorted(bounds, begins, side="right")
            is_one = before[: len(hashes)] == before[WORDS - 1 :]
            yield Grams(hashes[is_one], begins[: len(hashes)][is_one], ends[WORDS - 1 :][is_one])
        if last:
            return
        # the next one begins with the words that the 13-grams across the cut need
        begin = int(begins[1 - WORDS]) if len(words) >= WORDS else begin + _CHUNK_BYTES


def _words(data: bytes, begin: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Hashes]:
    """Begin, end and hash of each word of a chunk; one that the chunk cuts is the next one's."""
    chunk = np.frombuffer(data, np.uint8, min(_CHUNK_BYTES, len(data) - begin), begin)
    is_word = _IS_WORD[chunk]
    for first, second in _PUNCTUATION:
        at = np.flatnonzero((chunk[:-1] == first) & (chunk[1:] == second))
        for place in (at, at + 1, np.minimum(at + 2, len(chunk) - 1)):
            is_word[place] = False
    edges = np.flatnonzero(np.diff(is_word, prepend=False, append=False))
    begins, ends = edges[::2], edges[1::2]
    if len(ends) > 1 and ends[-1] == len(chunk) and begin + len(chunk) < len(data):
        begins, ends = begins[:-1], ends[:-1]
    powers, inverses = _powers()
    sums = np.zeros(len(chunk) + 1, np.uint64)
    np.cumsum(_OF_BYTE[chunk] * powers[: len(chunk)], out=sums[1:])
    return begins + begin, ends + begin, _mixed((sums[ends] - sums[begins]) * inverses[begins])


def _hashes(words: Hashes) -> Hashes:
    n = len(words) - WORDS + 1
    total = np.zeros(n, np.uint64)
    for place, factor in enumerate(_OF_PLACE):
        total += words[place : place + n] * factor
    return _mixed(total)


def _mixed(values: Hashes) -> Hashes:
    values = (values ^ (values >> np.uint64(31))) * _MIX
    return values ^ (values >> np.uint64(29))


@cache
def _powers() -> tuple[Hashes, Hashes]:
    """Of an odd base and its inverse modulo 2**64, for each place in a chunk."""
    found = []
    for base in (_BASE, pow(_BASE, -1, 2**64)):
        powers = np.full(_CHUNK_BYTES + 1, base, np.uint64)
        powers[0] = 1
        found.append(np.cumprod(powers))
    return found[0], found[1]


class Overlaps:
    """Finds what of a text the test sets have, too."""

    def __init__(self, files: Sequence[Path]) -> None:
        """`files`: the ascending hashes of each test set's 13-grams, mapped. Raises `OSError`."""
        self._sets = [np.memmap(path, np.uint64, "r") for path in files if path.stat().st_size]
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        for of_set in self._sets:
            self._table[of_set >> np.uint64(64 - _TABLE_BITS)] = True

    def spans(self, documents: Sequence[bytes]) -> list[list[tuple[int, int]]]:
        """Of each document in UTF-8 the bytes, from which to which, of what is shared."""
        starts = np.cumsum([0, *(len(document) + 1 for document in documents)])
        found: list[list[tuple[int, int]]] = [[] for _ in documents]
        for grams in grams_of(documents):
            shared = np.flatnonzero(self._table[grams.hashes >> np.uint64(64 - _TABLE_BITS)])
            shared = shared[self._are_in_a_set(grams.hashes[shared])]
            numbers = np.searchsorted(starts, grams.begins[shared], side="right") - 1
            for at, number in zip(shared.tolist(), numbers.tolist(), strict=True):
                before = int(starts[number])
                found[number].append((int(grams.begins[at]) - before, int(grams.ends[at]) - before))
        return found

    def _are_in_a_set(self, hashes: Hashes) -> NDArray[np.bool_]:
        is_there = np.zeros(len(hashes), np.bool_)
        for of_set in self._sets:
            at = np.minimum(np.searchsorted(of_set, hashes), len(of_set) - 1)
            is_there |= of_set[at] == hashes
        return is_there


@cache
def overlaps_with(files: tuple[Path, ...]) -> Overlaps:
    """The same object for the same files: a process has one."""
    return Overlaps(files)
