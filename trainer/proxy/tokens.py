"""A source's tokens: encoded once, kept under `tokens/`, read through a memory map."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.held_out import Survey, digest_of, survey
from trainer.proxy.progress import Progress, interruptible
from trainer.proxy.tokenizer import SEPARATOR_ID, TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.reading import reading
from trainer.rundir.sources.documents import SourceFiles, look_at_files, naming, read_documents
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.prepared import (
    Drift,
    TokenIndex,
    drift_of,
    read_index,
    token_folder,
    write_index,
)
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS, TextRules

TokenArray: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]

_TRIES = 3
"""Of reading a text that changes meanwhile."""

_BATCH_CHARACTERS = 1_000_000
"""Text that is encoded at a time: half a second's work, and some 100 MB while it lasts."""


@dataclass(frozen=True, kw_only=True)
class TokenizedSource:
    """A source as the trainer sees it; each document, or part of one, ends with the separator."""

    name: str
    train: TokenArray
    held_out: TokenArray
    """Tokens of the held-out documents: no batch is ever drawn from them."""
    documents: int
    held_out_documents: int
    fingerprint: str
    """Identity of the source's text, to tell at a later start that it has changed."""
    drift: Drift
    """How the source's files differ from those that the tokens were made of."""
    left_out: str = ""
    """What of the files is no text, where they were read now."""
    replaced: str = ""
    """How they differed from those of the tokens before, which were replaced now."""


def tokenize_source(
    name: str,
    source: SourceSettings,
    *,
    run: RunDirectory,
    tokenizer: TextTokenizer,
    vocab_size: int,
    progress: Progress,
    rules: TextRules = WHOLE_DOCUMENTS,
    frozen: str | None = None,
) -> TokenizedSource:
    """The source's tokens, from the run's `tokens/` or made now.

    Little-endian uint16, or uint32 where `vocab_size` is over 65,536.

    `frozen`: the text that the phase has trained on: its fingerprint, or the first digits of it,
    or nothing where that is not known. Its tokens stay, whatever has become of the files; where
    they are gone, no other text is taken for it. `None`: nothing was trained in this phase yet. A
    text that has changed is encoded anew then; the tokens of the one before stay on disk.

    `progress` may raise to give up; a later call starts over. `rules`: how the run has text read.

    Raises:
        SourceError: neither text nor tokens are there, or not those that the phase has trained on;
            the text is empty, malformed, or changes while it is read.
        OSError: the cache can't be written.
    """
    folder = token_folder(run.tokens, name)
    dtype = "<u2" if vocab_size <= 65_536 else "<u4"

    def check() -> None:
        progress(0.0, f"reading {name}")

    is_frozen = frozen is not None
    text = _SourceText(source, run.path, rules, check, is_checked=not is_frozen)
    with naming(name):
        index, left_out, replaced = read_index(folder, frozen or ""), "", ""
        if index is not None and (index.tokenizer, index.dtype) != (tokenizer.sha256, dtype):
            index = None
        drift = Drift() if index is None else text.drift(folder, index)
        if index is None or not (is_frozen or drift.is_same or drift.files is None):
            work = partial(_Encoding, tokenizer, dtype, progress, f"encoding {name}")
            index, files = _prepare(text, folder, work, frozen or "")
            replaced = ", ".join(filter(None, (drift.altered, drift.added)))
            drift, left_out = Drift(files=files), index.left_out
            write_index(folder, index, files)
        elif drift.is_same and drift.files and drift.files.stamp != index.stamp:
            write_index(folder, index, drift.files)
    train, held_out = index.file_names
    return TokenizedSource(
        name=name,
        train=_map(folder / train, dtype, index.train_tokens),
        held_out=_map(folder / held_out, dtype, index.held_out_tokens),
        documents=index.documents,
        held_out_documents=index.held_out_documents,
        fingerprint=index.fingerprint,
        drift=drift,
        left_out=left_out,
        replaced=replaced,
    )


@dataclass(frozen=True)
class _SourceText:
    """How the source's text is read."""

    source: SourceSettings
    base: Path
    rules: TextRules
    check: Callable[[], None]
    is_checked: bool

    def documents(
        self, check: Callable[[], None], left_out: LeftOut | None = None
    ) -> Iterator[str]:
        return read_documents(
            self.source,
            self.base,
            rules=self.rules,
            check=check,
            is_checked=self.is_checked,
            left_out=left_out,
        )

    def survey(self) -> tuple[Survey, str]:
        """And what was left out of it, in words."""
        left_out = LeftOut(self.source.max_odd_share)
        documents = self.documents(self.check, left_out)
        return survey(documents, piece_characters=self.rules.piece_characters), left_out.words

    def files(self) -> SourceFiles:
        return look_at_files(self.source, self.base, self.check)

    def drift(self, folder: Path, index: TokenIndex) -> Drift:
        return drift_of(
            self.source,
            self.base,
            folder,
            index,
            rules=self.rules,
            check=self.check,
        )


def _prepare(
    text: _SourceText, folder: Path, encoding: Callable[[Survey], "_Encoding"], wanted: str
) -> tuple[TokenIndex, SourceFiles]:
    """Encode the source's text; read again where it changed meanwhile, but not for ever."""
    for _ in range(_TRIES):
        files = text.files()  # before the text is read: what changes from here on is seen
        found, left_out = text.survey()
        if not found.fingerprint.startswith(wanted):
            raise SourceError(
                f"{text.source.path}: is not the text that was trained on, and the tokens of"
                f" that ({shown(folder)}) are gone: put either back, or go on with this text by a"
                " pivot"
            )
        work = encoding(found)
        index = work.write(folder, text.documents(work.tell))
        if index is not None:
            return replace(index, left_out=left_out), files
    raise SourceError(
        f"{text.source.path}: changed each time it was read; start again when it is written"
    )


def _map(path: Path, dtype: str, tokens: int) -> TokenArray:
    if not tokens:  # an empty file can't be mapped
        return np.empty(0, dtype)
    with reading(path) as file:
        return np.memmap(file, dtype=dtype, mode="r", shape=(tokens,))


@dataclass
class _Encoding:
    """One encoding of a source into its two files."""

    tokenizer: TextTokenizer
    dtype: str
    progress: Progress
    what: str
    survey: Survey
    bytes_done: int = 0

    def tell(self) -> None:
        """How far it is; raises to give up."""
        self.progress(min(1.0, self.bytes_done / self.survey.text_bytes), self.what)

    def write(self, folder: Path, documents: Iterable[str]) -> TokenIndex | None:
        """Write both files, whole and synced before they get their names.

        `None`: the documents are not those of the survey, and nothing was written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("*.partial"):
            left.unlink()
        index = TokenIndex(
            stamp="",
            tokenizer=self.tokenizer.sha256,
            dtype=self.dtype,
            fingerprint=self.survey.fingerprint,
            documents=self.survey.documents,
            held_out_documents=self.survey.held_out_documents,
            train_tokens=0,
            held_out_tokens=0,
            text_bytes=self.survey.text_bytes,
        )
        unnamed = [folder / f"{name}.partial" for name in index.file_names]
        encoded = hashlib.sha256()
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in unnamed]
            tokens = self._encode(_hashed(documents, encoded), *files)
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        if encoded.hexdigest() != self.survey.fingerprint:
            return None
        for path, name in zip(unnamed, index.file_names, strict=True):
            path.replace(folder / name)
        return replace(index, train_tokens=tokens[0], held_out_tokens=tokens[1])

    def _encode(
        self, documents: Iterable[str], train: BinaryIO, held_out: BinaryIO
    ) -> tuple[int, int]:
        counts = [0, 0]
        segments = chain.from_iterable(map(self.survey.segments, documents))
        for batch in _batches(segments):
            texts = [text for _, text in batch]
            encoded = interruptible(partial(self.tokenizer.encode, texts), self.tell)
            for (is_held_out, text), ids in zip(batch, encoded, strict=True):
                file = held_out if is_held_out else train
                file.write(np.array([*ids, SEPARATOR_ID], self.dtype).tobytes())
                counts[is_held_out] += len(ids) + 1
                self.bytes_done += len(text.encode())
            self.tell()
        return counts[0], counts[1]


def _hashed(documents: Iterable[str], whole: "hashlib._Hash") -> Iterator[str]:
    """The documents; `whole` becomes their fingerprint."""
    for document in documents:
        whole.update(digest_of(document))
        yield document


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
