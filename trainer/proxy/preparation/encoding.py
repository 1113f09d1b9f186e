"""Encode a unit: what one process does with it, without a look at any other unit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from trainer.proxy.held_out import Sides, digest_of, hashed, new_count
from trainer.proxy.preparation.token_pieces import hashed_tokens, token_segments
from trainer.proxy.preparation.units import Tokens, Unit
from trainer.proxy.progress import interruptible
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.text_rules import PIECE_CHARACTERS_PER_TOKEN

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
        if isinstance(unit, Tokens):
            made.take_tokens(unit.part.documents(), check)
        else:
            made.take_text(unit.read(left_out), check)
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

    def take_text(self, documents: Iterable[str], check: Callable[[], None]) -> None:
        """Encode them."""
        tokenizer = self.encoder.tokenizer
        for batch in _batches(self.segments(documents, check)):
            texts = [text for _, text in batch]
            ids = interruptible(partial(tokenizer.encode, texts), check)
            for (is_held_out, _), of_text in zip(batch, ids, strict=True):
                data = np.array([*of_text, tokenizer.separator], self.encoder.dtype).tobytes()
                (self.held_out if is_held_out else self.train).append(data)

    def take_tokens(self, documents: Iterable[bytes], check: Callable[[], None]) -> None:
        """Take them as they are; each, or part of one, ends with the separator."""
        separator = self.encoder.tokenizer.separator
        for document in documents:
            check()
            self.digests.append(sha256(document).digest())
            self.text_bytes += len(document)
            piece_tokens = self.encoder.piece_characters // PIECE_CHARACTERS_PER_TOKEN
            pieces = hashed_tokens(document, piece_tokens)
            self.count.add(pieces)
            for is_held_out, data in token_segments(self.encoder.sides, pieces):
                tokens = np.frombuffer(data, "<u4")
                if tokens[-1] != separator:
                    tokens = np.append(tokens, np.uint32(separator))
                taken = tokens.astype(self.encoder.dtype).tobytes()
                (self.held_out if is_held_out else self.train).append(taken)

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
