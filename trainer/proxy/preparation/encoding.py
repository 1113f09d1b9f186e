"""Encode a unit: what one process does with it, without a look at any other unit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from trainer.proxy.held_out import Sides, digest_of, hashed, new_count
from trainer.proxy.preparation.units import Unit
from trainer.proxy.progress import interruptible
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.matching import never

_BATCH_CHARACTERS = 1_000_000
"""Text that is encoded at a time: half a second's work, and some 100 MB while it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A unit as tokens, and what it adds to what is known of its source."""

    digests: bytes
    """The documents' sha256s, in order."""
    train: bytes
    held_out: bytes
    text_bytes: int
    counted: dict[str, Any]
    """Of what is held out, for `merge`."""
    left_out: LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """How the text of a source becomes tokens."""

    tokenizer: TextTokenizer
    dtype: str
    piece_characters: int
    sides: Sides

    def encode(self, unit: Unit, check: Callable[[], None] = never) -> Encoded:
        """Raises `SourceError`, and what `check` raises to give up."""
        made = _Made(self)
        left_out = LeftOut(1.0)  # the share is the whole source's
        segments = made.segments(unit.read(left_out), check)
        for batch in _batches(segments):
            texts = [text for _, text in batch]
            ids = interruptible(partial(self.tokenizer.encode, texts), check)
            for (is_held_out, _), of_text in zip(batch, ids, strict=True):
                data = np.array([*of_text, self.tokenizer.separator], self.dtype).tobytes()
                (made.held_out if is_held_out else made.train).append(data)
        return Encoded(
            digests=b"".join(made.digests),
            train=b"".join(made.train),
            held_out=b"".join(made.held_out),
            text_bytes=made.text_bytes,
            counted=made.count.told(),
            left_out=left_out,
        )


@dataclass(slots=True)
class _Made:
    encoder: Encoder
    digests: list[bytes] = field(default_factory=list)
    train: list[bytes] = field(default_factory=list)
    held_out: list[bytes] = field(default_factory=list)
    text_bytes: int = 0
    count: Any = None

    def __post_init__(self) -> None:
        self.count = new_count(self.encoder.piece_characters)

    def segments(
        self, documents: Iterable[str], check: Callable[[], None]
    ) -> Iterator[tuple[bool, str]]:
        """Whether held out, and the text; what is counted on the way."""
        for document in documents:
            check()
            if not document.strip():
                continue
            self.digests.append(digest_of(document))
            self.text_bytes += len(document.encode())
            parts = hashed(document, self.encoder.piece_characters)
            self.count.add(parts)
            yield from self.encoder.sides.segments(parts)


def _batches(segments: Iterable[tuple[bool, str]]) -> Iterator[list[tuple[bool, str]]]:
    batch: list[tuple[bool, str]] = []
    characters = 0
    for segment in segments:
        batch.append(segment)
        characters += len(segment[1])
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
