"""Tokens that are made already, in files: nanoGPT's, llm.c's, Megatron's.

They are cut into ranges that end with a document, each read by itself; a document's tokens are the
bytes of little-endian uint32, whatever width the file has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.content import readable
from trainer.rundir.sources.documents import find_files
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.megatron import Index, open_index
from trainer.rundir.sources.text_rules import TextRules
from trainer.rundir.vocabulary import vocabulary_of_run

RANGE_TOKENS = 4 << 20
"""Of a range, at most; a longer document is cut there. It is part of a source's identity."""

_LOOK_TOKENS = 65_536
_LLM_C = {20240520: (1, "<u2"), 20240801: (7, "<u4")}
"""By the magic number: version, and type of a token."""
_LLM_C_HEADER_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """Where in a file the tokens are."""

    path: Path
    dtype: str
    count: int
    offset: int = 0
    index: Index | None = None
    """What tells where the documents end; else the separator does."""
    number: int = 0
    """Of the file among the source's."""

    @property
    def bytes(self) -> int:
        """Of its tokens."""
        return self.count * np.dtype(self.dtype).itemsize

    def read(self, begin: int, end: int) -> NDArray[np.int64]:
        """The tokens from `begin` to before `end`; raises `SourceError`."""
        item_bytes = np.dtype(self.dtype).itemsize
        with readable(self.path), self.path.open("rb") as file:
            file.seek(self.offset + begin * item_bytes)
            data = file.read((end - begin) * item_bytes)
        if len(data) < (end - begin) * item_bytes:
            raise SourceError(f"{shown(self.path)}: became shorter while it was read")
        return np.frombuffer(data, self.dtype).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRange:
    """Whole documents of a file, or a part of a long one."""

    file: TokenFile
    begin: int
    end: int
    ends: tuple[int, ...] | None
    """Where its documents end by the index; None: where the separator is."""
    separator: int
    vocab_size: int

    def documents(self) -> Iterator[bytes]:
        """The tokens of each that has any besides the separator; raises `SourceError`."""
        tokens = self.file.read(self.begin, self.end)
        self._require_known(tokens)
        ends = self.ends
        if ends is None:
            ends = tuple(np.flatnonzero(tokens == self.separator) + 1)
        begin = 0
        for end in (*(e - (0 if self.ends is None else self.begin) for e in ends), len(tokens)):
            document = tokens[begin:end]
            if len(document) > 1 or (len(document) and document[0] != self.separator):
                yield document.astype("<u4").tobytes()
            begin = end

    def _require_known(self, tokens: NDArray[np.int64]) -> None:
        odd = np.flatnonzero((tokens < 0) | (tokens >= self.vocab_size))
        if len(odd):
            raise SourceError(
                f"{shown(self.file.path)}: token {self.begin + odd[0]:,} is {tokens[odd[0]]:,},"
                f" none of the {self.vocab_size:,} of model.vocab_size: it was made with another"
                " tokenizer than tokenizer.path names, or is laid out otherwise"
            )


def open_token_file(path: Path) -> TokenFile:
    """The layout of a file, by what is in it; raises `SourceError`."""
    where = shown(path)
    if path.suffix != ".bin":
        raise SourceError(f"{where}: tokens are taken from .bin files; narrow the path")
    with readable(path), path.open("rb") as file:
        header = np.frombuffer(file.read(12), "<i4", count=-1) if path.stat().st_size > 11 else None
    size = path.stat().st_size
    if (index_path := path.with_suffix(".idx")).exists():
        index = open_index(index_path, size)
        return TokenFile(path=path, dtype=index.dtype, count=index.tokens, index=index)
    if header is not None and int(header[0]) in _LLM_C:
        return _llm_c(path, header, size)
    if not size or size % 2:
        raise SourceError(
            f"{where}: has {size:,} bytes; nanoGPT's tokens are two bytes each, and llm.c's have a"
            " header: it is cut off, or holds no tokens"
        )
    return TokenFile(path=path, dtype="<u2", count=size // 2)


def _llm_c(path: Path, header: NDArray[np.int32], size: int) -> TokenFile:
    magic, version, count = map(int, header)
    known, dtype = _LLM_C[magic]
    if version != known:
        raise SourceError(f"{shown(path)}: llm.c's version {version}; {known} is known here")
    there = (size - _LLM_C_HEADER_BYTES) // np.dtype(dtype).itemsize
    if there != count or not count:
        raise SourceError(
            f"{shown(path)}: holds {max(there, 0):,} tokens, and its header tells of {count:,}:"
            " it is cut off or damaged; put it there again"
        )
    return TokenFile(path=path, dtype=dtype, count=count, offset=_LLM_C_HEADER_BYTES)


def token_files(
    source: SourceSettings, base: Path, check: Callable[[], None] = never
) -> Iterator[TokenFile]:
    """Those of a source, in the order of their names; raises `SourceError`."""
    for number, path in enumerate(find_files(source, base, check).files):
        check()
        if path.suffix == ".idx":
            if not path.with_suffix(".bin").exists():
                raise SourceError(f"{shown(path)}: the .bin file beside it is missing")
            continue
        yield replace(open_token_file(path), number=number)


def token_ranges(
    source: SourceSettings, base: Path, rules: TextRules, check: Callable[[], None] = never
) -> Iterator[TokenRange]:
    """The ranges of a source of the run in `base`, in order; raises `SourceError`.

    Its tokenizer is frozen already: that tells which token the separator is.
    """
    separator = vocabulary_of_run(base, rules.separator).separator
    for file in token_files(source, base, check):
        found = _by_index(file, file.index) if file.index else _by_separator(file, separator)
        for begin, end, ends in found:
            check()
            yield TokenRange(
                file=file,
                begin=begin,
                end=end,
                ends=ends,
                separator=separator,
                vocab_size=rules.vocab_size,
            )


def _by_separator(file: TokenFile, separator: int) -> Iterator[tuple[int, int, None]]:
    begin = 0
    while begin < file.count:
        end = min(begin + RANGE_TOKENS, file.count)
        if end < file.count:
            end = _last_end(file, begin, end, separator)
        yield begin, end, None
        begin = end


def _last_end(file: TokenFile, begin: int, end: int, separator: int) -> int:
    """Behind the last separator; where there is none, the end."""
    for stop in range(end, begin, -_LOOK_TOKENS):
        start = max(begin, stop - _LOOK_TOKENS)
        found = np.flatnonzero(file.read(start, stop) == separator)
        if len(found):
            return start + int(found[-1]) + 1
    return end


def _by_index(file: TokenFile, index: Index) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    begin, ends = 0, np.empty(0, np.int64)
    more = index.document_ends()
    while begin < file.count:
        limit = begin + RANGE_TOKENS
        while not len(ends) or ends[-1] <= limit:
            chunk = next(more, None)
            if chunk is None:
                break
            ends = np.concatenate([ends, chunk])
        n = int(np.searchsorted(ends, limit, "right"))
        end = int(ends[n - 1]) if n and ends[n - 1] > begin else min(limit, file.count)
        yield begin, end, tuple(ends[:n].tolist())
        begin, ends = end, ends[n:]


def read_token_documents(
    source: SourceSettings, base: Path, rules: TextRules, check: Callable[[], None] = never
) -> Iterator[bytes]:
    """The documents of a source that holds tokens; raises `SourceError`."""
    for part in token_ranges(source, base, rules, check):
        for document in part.documents():
            check()
            yield document
