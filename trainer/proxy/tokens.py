"""A source's tokens: encoded once, kept under `tokens/`, read through a memory map."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeAlias
from urllib.parse import quote

import numpy as np
import orjson
from numpy.typing import NDArray

from trainer.proxy.held_out import Survey, survey
from trainer.proxy.progress import Progress
from trainer.proxy.tokenizer import SEPARATOR_ID, TextTokenizer
from trainer.rundir.atomic import write_atomic
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.reading import read_file, reading
from trainer.rundir.sources.documents import naming, read_documents, source_stamp

TokenArray: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]

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


@dataclass(frozen=True, kw_only=True)
class _Index:
    """`index.json` of a source: written last, so the files that it names are whole."""

    stamp: str
    tokenizer: str
    dtype: str
    fingerprint: str
    documents: int
    held_out_documents: int
    train_tokens: int
    held_out_tokens: int
    text_bytes: int = 0
    """0: written by a version that did not keep it. With the tokens, the text's bytes a token."""

    @property
    def file_names(self) -> tuple[str, str]:
        """Train and held-out file; files of another text or tokenizer have other names."""
        return _file_names(self.tokenizer, self.fingerprint, self.dtype)


def tokenize_source(
    name: str,
    source: SourceSettings,
    *,
    base: Path,
    tokenizer: TextTokenizer,
    vocab_size: int,
    directory: Path,
    progress: Progress,
    piece_characters: int = 0,
) -> TokenizedSource:
    """The source's tokens, from the cache in `directory` (the run's `tokens/`) or made now.

    Little-endian uint16, or uint32 where `vocab_size` is over 65,536. While the source's files
    are the same by name, size and time, the cache is taken without reading the text; else the
    text is read and, if it or the tokenizer is another, encoded again. `progress` may raise to
    give up; a later call starts over. `piece_characters` is that of `survey`.

    Raises:
        SourceError: the source is gone, empty or malformed.
        OSError: the cache can't be written.
    """
    folder = directory / _folder_name(name)
    dtype = "<u2" if vocab_size <= 65_536 else "<u4"
    with naming(name):
        stamp = source_stamp(source, base)
        index = _read_index(folder, tokenizer.sha256, dtype)
        if index is None or index.stamp != stamp:
            progress(0.0, f"reading {name}")

            def documents() -> Iterator[str]:
                return read_documents(source, base, piece_characters=piece_characters)

            found = survey(documents(), piece_characters=piece_characters)
            if index is None or index.fingerprint != found.fingerprint:
                work = _Encoding(tokenizer, found, dtype, progress, f"encoding {name}")
                index = work.write(folder, documents())
            index = replace(index, stamp=stamp)
            _write_index(folder, index)
    train, held_out = index.file_names
    return TokenizedSource(
        name=name,
        train=_map(folder / train, dtype, index.train_tokens),
        held_out=_map(folder / held_out, dtype, index.held_out_tokens),
        documents=index.documents,
        held_out_documents=index.held_out_documents,
        fingerprint=index.fingerprint,
    )


def _folder_name(source_name: str) -> str:
    """A name that is safe as a folder's, different for different sources."""
    return quote(source_name, safe=" ").replace(".", "%2E")


def _file_names(tokenizer: str, fingerprint: str, dtype: str) -> tuple[str, str]:
    key = f"{tokenizer[:16]}-{fingerprint[:16]}-{dtype[1:]}"
    return f"{key}.train.bin", f"{key}.held_out.bin"


def _read_index(folder: Path, tokenizer: str, dtype: str) -> _Index | None:
    """The index, if it is of this tokenizer and its files have the sizes that it says."""
    try:
        index = _Index(**orjson.loads(read_file(folder / "index.json")))
        if (index.tokenizer, index.dtype) != (tokenizer, dtype):
            return None
        token_counts = index.train_tokens, index.held_out_tokens
        for name, count in zip(index.file_names, token_counts, strict=True):
            if (folder / name).stat().st_size != count * np.dtype(dtype).itemsize:
                return None
    except (OSError, ValueError, TypeError):  # missing, torn, or of another version
        return None
    return index


def _write_index(folder: Path, index: _Index) -> None:
    write_atomic(folder / "index.json", orjson.dumps(asdict(index), option=orjson.OPT_INDENT_2))
    current = {"index.json", *index.file_names}
    for path in folder.iterdir():
        if path.name not in current:
            path.unlink()


def _map(path: Path, dtype: str, tokens: int) -> TokenArray:
    if not tokens:  # an empty file can't be mapped
        return np.empty(0, dtype)
    with reading(path) as file:
        return np.memmap(file, dtype=dtype, mode="r", shape=(tokens,))


@dataclass(frozen=True)
class _Encoding:
    """One encoding of a source into its two files."""

    tokenizer: TextTokenizer
    survey: Survey
    dtype: str
    progress: Progress
    what: str

    def write(self, folder: Path, documents: Iterable[str]) -> _Index:
        """Write both files, whole and synced before they get their names."""
        folder.mkdir(parents=True, exist_ok=True)
        names = _file_names(self.tokenizer.sha256, self.survey.fingerprint, self.dtype)
        partial = [folder / f"{name}.partial" for name in names]
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in partial]
            tokens = self._encode(documents, *files)
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for path, name in zip(partial, names, strict=True):
            path.replace(folder / name)
        return _Index(
            stamp="",
            tokenizer=self.tokenizer.sha256,
            dtype=self.dtype,
            fingerprint=self.survey.fingerprint,
            documents=self.survey.documents,
            held_out_documents=self.survey.held_out_documents,
            train_tokens=tokens[0],
            held_out_tokens=tokens[1],
            text_bytes=self.survey.text_bytes,
        )

    def _encode(
        self, documents: Iterable[str], train: BinaryIO, held_out: BinaryIO
    ) -> tuple[int, int]:
        counts = [0, 0]
        bytes_done = 0
        segments = chain.from_iterable(map(self.survey.segments, documents))
        for batch in _batches(segments):
            encoded = self.tokenizer.encode([text for _, text in batch])
            for (is_held_out, text), ids in zip(batch, encoded, strict=True):
                file = held_out if is_held_out else train
                file.write(np.array([*ids, SEPARATOR_ID], self.dtype).tobytes())
                counts[is_held_out] += len(ids) + 1
                bytes_done += len(text.encode())
            self.progress(min(1.0, bytes_done / self.survey.text_bytes), self.what)
        return counts[0], counts[1]


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
