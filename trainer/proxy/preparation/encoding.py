"""Encode a unit: what one process does with it, without a look at any other unit."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trainer.proxy.held_out import (
    DocumentCount,
    Hashed,
    PieceCount,
    Sides,
    digest_of,
    hashed,
    new_count,
)
from trainer.proxy.held_out_pieces import OrderedPieces
from trainer.proxy.preparation.documents import records_of
from trainer.proxy.preparation.overlap import overlaps_with
from trainer.proxy.preparation.token_pieces import hashed_tokens, token_segments
from trainer.proxy.preparation.units import Tokens, Unit, read_unit
from trainer.proxy.progress import interruptible
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.origins import packed
from trainer.rundir.sources.text_rules import PIECE_CHARACTERS_PER_TOKEN

_Text = TypeVar("_Text", tuple[int, str], tuple[int, bool, str])

_BATCH_CHARACTERS = 1_000_000
"""Text that is encoded at a time: half a second's work, and some 100 MB while it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTokens:
    """A unit as tokens."""

    train: bytes
    held_out: bytes
    documents: bytes
    """A `RECORD` of each, as if there were nothing before the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded(UnitTokens):
    """And what it adds to what is known of its source."""

    text_bytes: int
    counted: dict[str, Any]
    """Of what is held out, for `merge`."""
    left_out: LeftOut
    apart: tuple[int, int, int]
    """Passages that a test set has, too, the documents that have them, and their bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """How the text of a source becomes tokens."""

    tokenizer: TextTokenizer
    dtype: str
    piece_characters: int
    sides: Sides
    apart: tuple[Path, ...] = ()
    """13-grams of the test sets, whose text is in neither side."""

    def encode(self, unit: Unit, check: Callable[[], None] = never) -> Encoded:
        """Raises `SourceError`, and what `check` raises to give up."""
        made = _Made(self)
        left_out = LeftOut(1.0)  # the share is the whole source's
        if isinstance(unit, Tokens):
            made.take_tokens(unit, left_out, check)
        else:
            made.take_text(read_unit(unit, left_out), check)
        return Encoded(
            train=b"".join(made.train),
            held_out=b"".join(made.held_out),
            documents=made.records(),
            text_bytes=sum(made.text_bytes),
            counted=made.counted(),
            left_out=left_out,
            apart=(made.apart_pieces, made.apart_documents, made.apart_bytes),
        )


@dataclass(slots=True)
class _Made:
    encoder: Encoder
    train: list[bytes] = field(default_factory=list)
    held_out: list[bytes] = field(default_factory=list)
    # of each document
    digests: list[bytes] = field(default_factory=list)
    text_bytes: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    train_bytes: list[int] = field(default_factory=list)
    held_out_bytes: list[int] = field(default_factory=list)
    apart_pieces: int = 0
    apart_documents: int = 0
    apart_bytes: int = 0
    count: DocumentCount | PieceCount | OrderedPieces = field(init=False)

    def __post_init__(self) -> None:
        is_apart = self.encoder.sides.apart
        self.count = OrderedPieces() if is_apart else new_count(self.encoder.piece_characters)

    def counted(self) -> dict[str, Any]:
        """Of what is held out, for `merge`."""
        if not isinstance(self.count, OrderedPieces):
            return self.count.told()
        item_bytes = np.dtype(self.encoder.dtype).itemsize
        return self.count.told([len(piece) // item_bytes for piece in self.held_out])

    def take_text(self, documents: Iterable[tuple[int, str]], check: Callable[[], None]) -> None:
        """Encode them."""
        tokenizer = self.encoder.tokenizer
        for batch in _batches(self.segments(documents, check)):
            texts = [text for _, _, text in batch]
            ids = interruptible(partial(tokenizer.encode, texts), check)
            for (document, is_held_out, _), of_text in zip(batch, ids, strict=True):
                data = np.array([*of_text, tokenizer.separator], self.encoder.dtype).tobytes()
                self.add(document, data, is_held_out=is_held_out)

    def take_tokens(self, unit: Tokens, left_out: LeftOut, check: Callable[[], None]) -> None:
        """Take them as they are; each, or part of one, ends with the separator."""
        separator = self.encoder.tokenizer.separator
        for row, document in enumerate(unit.part.documents(), start=1):
            check()
            left_out.rows = row
            number = self.begin(
                sha256(document).digest(), len(document), packed(unit.part.file.number, row)
            )
            piece_tokens = self.encoder.piece_characters // PIECE_CHARACTERS_PER_TOKEN
            pieces = hashed_tokens(document, piece_tokens)
            self.count.add(pieces)
            for is_held_out, data in token_segments(self.encoder.sides, pieces):
                tokens = np.frombuffer(data, "<u4")
                if tokens[-1] != separator:
                    tokens = np.append(tokens, np.uint32(separator))
                taken = tokens.astype(self.encoder.dtype).tobytes()
                self.add(number, taken, is_held_out=is_held_out)

    def segments(
        self, documents: Iterable[tuple[int, str]], check: Callable[[], None]
    ) -> Iterator[tuple[int, bool, str]]:
        """Number of the document, whether held out, and the text; what is counted on the way."""
        for origin, document, spans in self.with_spans(documents):
            check()
            if not document.strip():
                continue
            number = self.begin(digest_of(document), len(document.encode()), origin)
            parts = hashed(document, self.encoder.piece_characters, check)
            stretches = self.apart_from(spans, parts) if spans else [parts]
            self.count.add([part for stretch in stretches for part in stretch])
            for stretch in stretches:
                for is_held_out, text in self.encoder.sides.segments(stretch):
                    yield number, is_held_out, text

    def with_spans(
        self, documents: Iterable[tuple[int, str]]
    ) -> Iterator[tuple[int, str, list[tuple[int, int]]]]:
        """With what of each document a test set has, too: from which byte to which."""
        if not self.encoder.apart:
            yield from ((origin, document, []) for origin, document in documents)
            return
        overlaps = overlaps_with(self.encoder.apart)
        for batch in _batches(documents):
            spans = overlaps.spans([document.encode() for _, document in batch])
            for (origin, document), of_document in zip(batch, spans, strict=True):
                yield origin, document, of_document

    def apart_from(self, spans: list[tuple[int, int]], parts: Hashed) -> list[Hashed]:
        """The document without the pieces that have any of these bytes, in what is left of it."""
        stretches: list[Hashed] = [[]]
        self.apart_documents += 1
        end = 0
        for digest, text in parts:
            begin, end = end, end + len(text.encode())
            if any(first < end and begin < last for first, last in spans):
                self.apart_pieces += 1
                self.apart_bytes += end - begin
                stretches.append([])
            else:
                stretches[-1].append((digest, text))
        return stretches

    def begin(self, digest: bytes, text_bytes: int, origin: int) -> int:
        """A document without any tokens yet; its number."""
        self.digests.append(digest)
        self.text_bytes.append(text_bytes)
        self.origins.append(origin)
        self.train_bytes.append(0)
        self.held_out_bytes.append(0)
        return len(self.digests) - 1

    def add(self, document: int, data: bytes, *, is_held_out: bool) -> None:
        """Tokens of a document."""
        (self.held_out if is_held_out else self.train).append(data)
        (self.held_out_bytes if is_held_out else self.train_bytes)[document] += len(data)

    def records(self) -> bytes:
        """Of the documents."""
        return records_of(
            self.digests, self.text_bytes, self.origins, self.train_bytes, self.held_out_bytes
        )


def _batches(texts: Iterable[_Text]) -> Iterator[list[_Text]]:
    """Of tuples whose last is a text."""
    batch: list[_Text] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text[-1])
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
