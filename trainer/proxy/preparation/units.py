"""Cut a source into units of work: pieces of its files, or documents in hand."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from trainer.proxy.preparation.meter import Reached
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.names import shown
from trainer.rundir.sources.content import TABLES, Content, Kind, opened
from trainer.rundir.sources.documents import PYTHON, contents_of, read_documents
from trainer.rundir.sources.file_documents import read_located_documents
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.origins import packed
from trainer.rundir.sources.tables import group_bytes, read_table
from trainer.rundir.sources.text_files import read_json_lines
from trainer.rundir.sources.text_rules import TextRules
from trainer.rundir.sources.token_files import TokenRange, token_ranges

UNIT_BYTES = 16 << 20
"""Of text: some seconds of one core, some 100 MB while they last."""

LARGEST_GROUP_BYTES = 4 * UNIT_BYTES
"""A row group of more text is read here, a thousand rows at a time: its tokens are too many."""

_SMALL_FILE_BYTES = UNIT_BYTES // 4
"""Files up to this are read here and put together: a unit each would be a sync each."""


@dataclass(frozen=True, slots=True)
class Lines:
    """JSON lines of a file, from the first that begins at or after `begin` to before `end`."""

    path: Path
    begin: int
    end: int
    field: str
    reached: Reached
    """Of the source, with this unit."""
    file: int = 0
    """Its number among the source's."""

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.end - self.begin

    @property
    def place(self) -> str:
        """What its rows are counted in."""
        return str(self.path)

    def read(self, left_out: LeftOut) -> Iterator[str]:
        """Its documents."""
        with opened(self.path, None) as file:
            if self.begin:
                file.seek(self.begin - 1)
                file.readline()
            rest = self.end - file.tell()
            data = file.read(rest) + file.readline() if rest > 0 else b""
        name = shown(self.path)
        yield from read_json_lines(
            io.BytesIO(data), self.field, name, left_out, is_begin=not self.begin
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """Row groups of a Parquet file, or batches of an Arrow one: from `begin` to before `end`."""

    path: Path
    kind: Kind
    begin: int
    end: int
    field: str
    size: int
    reached: Reached
    file: int = 0

    @property
    def place(self) -> str:
        """What its rows are counted in."""
        return str(self.path)

    def read(self, left_out: LeftOut) -> Iterator[str]:
        """Its documents."""
        groups = range(self.begin, self.end)
        yield from read_table(self.path, self.kind, self.field, left_out, groups)


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents that are there already."""

    texts: tuple[str, ...]
    origins: tuple[int, ...]
    """`packed` file and row of each."""
    size: int
    reached: Reached
    place: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Documents that are tokens already."""

    part: TokenRange
    reached: Reached

    @property
    def place(self) -> str:
        """What its documents are counted in."""
        return str(self.part.file.path)

    @property
    def size(self) -> int:
        """Tokens of it."""
        return self.part.end - self.part.begin


Unit: TypeAlias = Lines | Groups | Documents | Tokens


def read_unit(unit: Lines | Groups | Documents, left_out: LeftOut) -> Iterator[tuple[int, str]]:
    """Its documents, each with its `packed` file and row; of a piece of a file, rows of that."""
    if isinstance(unit, Documents):
        yield from zip(unit.origins, unit.texts, strict=True)
        return
    for text in unit.read(left_out):
        yield packed(unit.file, left_out.rows), text


def units_of(
    source: SourceSettings,
    base: Path,
    rules: TextRules,
    left_out: LeftOut,
    *,
    check: Callable[[], None],
    is_checked: bool,
) -> Iterator[Unit]:
    """The units of a source, in order: together they give the documents of `read_documents`.

    Large files of plain JSON lines, Parquet and Arrow by reference, all else by value.
    Raises `SourceError`.
    """
    if source.holds_tokens:
        yield from _token_units(source, base, rules, check)
        return
    gathered = _Gathered()
    if source.path.startswith(PYTHON):
        texts = read_documents(source, base, rules=rules, check=check, is_checked=is_checked)
        for number, text in enumerate(texts, start=1):
            yield from gathered.add(text, packed(0, number))
    else:
        files = contents_of(source, base, rules, left_out, check=check, is_checked=is_checked)
        for number, path, content in files:
            if pieces := _by_reference(path, content, source.field, gathered.reached):
                yield from gathered.rest()
                yield from (replace(piece, file=number) for piece in pieces)
            else:
                located = read_located_documents(path, content, source.field, rules, left_out)
                for row, text in located:
                    check()
                    yield from gathered.add(text, packed(number, row))
            gathered.end_file(path)
    yield from gathered.rest()


def _token_units(
    source: SourceSettings, base: Path, rules: TextRules, check: Callable[[], None]
) -> Iterator[Tokens]:
    before = Reached()
    for part in token_ranges(source, base, rules, check):
        is_end, size = part.end == part.file.count, part.file.bytes
        share = part.end / part.file.count
        reached = Reached(before.files + is_end, before.bytes + int(share * size))
        yield Tokens(part, reached)
        before = reached if is_end else before


def _by_reference(
    path: Path, content: Content, field: str, before: Reached
) -> Sequence[Lines] | Sequence[Groups]:
    """The units of a file that is read by the processes themselves; none: it is read here."""
    size = path.stat().st_size
    if size <= _SMALL_FILE_BYTES or content.compression is not None:
        return ()
    if content.kind in TABLES:
        return _groups(path, content.kind, field, size, before)
    return list(_pieces(path, field, size, before)) if content.kind is Kind.JSON_LINES else ()


def _groups(path: Path, kind: Kind, field: str, size: int, before: Reached) -> list[Groups]:
    """Enough of them for a unit each time; none where a single one is too large for a process."""
    sizes = list(group_bytes(path, kind, field))
    if max(sizes, default=0) > LARGEST_GROUP_BYTES:
        return []
    units: list[Groups] = []
    begin = n_bytes = 0
    for end, group_size in enumerate(sizes, start=1):
        n_bytes += group_size
        if n_bytes >= UNIT_BYTES or end == len(sizes):
            is_all = end == len(sizes)
            reached = Reached(before.files + is_all, before.bytes + size * end // len(sizes))
            units.append(Groups(path, kind, begin, end, field, n_bytes, reached))
            begin, n_bytes = end, 0
    return units


def _pieces(path: Path, field: str, size: int, before: Reached) -> Iterator[Lines]:
    for begin in range(0, size, UNIT_BYTES):
        end = min(begin + UNIT_BYTES, size)
        reached = Reached(before.files + (end == size), before.bytes + end)
        yield Lines(path, begin, end, field, reached)


class _Gathered:
    """Documents until they are enough for a unit."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._origins: list[int] = []
        self._size = 0
        self.reached = Reached()
        """Files that are read to their ends."""

    def end_file(self, path: Path) -> None:
        with suppress(OSError):  # gone since: the look at all files after it tells
            self.reached = Reached(self.reached.files + 1, self.reached.bytes + path.stat().st_size)

    def add(self, text: str, origin: int) -> Iterator[Documents]:
        if text.strip():
            self._texts.append(text)
            self._origins.append(origin)
            self._size += len(text)
        if self._size >= UNIT_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[Documents]:
        if self._texts:
            yield Documents(tuple(self._texts), tuple(self._origins), self._size, self.reached)
        self._texts, self._origins, self._size = [], [], 0
