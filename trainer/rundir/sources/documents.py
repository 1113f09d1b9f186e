"""Read the documents of a source: the Python library's own text, text files, or JSON lines."""

import difflib
import glob
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.directory import with_names
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.sources.pieces import PieceCutter
from trainer.rundir.sources.stdlib_text import READERS, stdlib_documents

JSON_LINES_SUFFIXES = {".jsonl", ".jsonlines", ".ndjson"}

WHOLE_FILE_BYTES = 65_536
"""A text file up to this size is one document."""

PART_CHARACTERS = 16_384
"""A larger one is cut at the first blank line after this many characters."""

LONGEST_PART_CHARACTERS = 4 * PART_CHARACTERS
"""Text without blank lines is cut at a line's end after this many, a longer line wherever it is."""

PYTHON = "python:"

_HEAD_BYTES = 65_536
_NOT_IN_TEXT = bytes(set(range(0x20)) - set(b"\a\b\t\n\v\f\r\x1a\x1b"))
"""Control characters, but for layout, the end of a DOS file and terminal colours."""


class SourceError(SettingsError):
    """A source that can't be used: what is wrong, where, and what to do."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the setting's name before the message of a `SourceError` that is raised inside."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"sources.{name}: {error}") from error


def read_documents(
    source: SourceSettings, base: Path, *, piece_characters: int = 0
) -> Iterator[str]:
    """The source's documents in a fixed order, none of them blank.

    `source.path` is `python:docs`, `python:docstrings`, `python:code`, a file, or a glob (`**`
    goes into folders; files in the order of their names), relative to `base`. `.jsonl` files
    give the text in `source.field` of each line. Bytes that are no UTF-8 become U+FFFD. A text
    file of more than 64 KiB is cut into parts of about 16 KiB at blank lines, so that a source
    which is one large file has text to hold out; with `piece_characters` where a piece of
    `pieces_of` ends, so that the pieces are those of the whole file.

    Raises:
        SourceError: no such file, an unknown `python:` name, a file that is no text, a bad line,
            no text at all.
    """
    is_empty = True
    for document in _read_any(source, base, piece_characters):
        if document.strip():
            is_empty = False
            yield document
    if is_empty:
        raise SourceError(f"{source.path}: there is no text in it")


def source_stamp(source: SourceSettings, base: Path) -> str:
    """A sha256 that changes when the source's files do, by name, size and time: cheap to ask.

    That of a `python:` source never changes: a run goes on with the text that it began with
    even where an update of Python brings another.

    Raises:
        SourceError: no such file, or an unknown `python:` name.
    """
    if source.path.startswith(PYTHON):
        stamp = _stdlib_name(source.path)
    else:
        facts = [(path, path.stat()) for path in matching_files(source, base)]
        stamp = repr([(with_names(str(p)), f.st_size, f.st_mtime_ns) for p, f in facts])
    return hashlib.sha256(f"{source.field}\n{stamp}".encode("utf-8", "surrogateescape")).hexdigest()


def _read_any(source: SourceSettings, base: Path, piece_characters: int) -> Iterator[str]:
    if source.path.startswith(PYTHON):
        yield from stdlib_documents(_stdlib_name(source.path))
        return
    for path in matching_files(source, base):
        require_text(path)
        try:
            if path.suffix.lower() in JSON_LINES_SUFFIXES:
                yield from _read_json_lines(path, source.field)
            else:
                yield from _read_text(path, piece_characters)
        except OSError as error:
            raise SourceError(f"{path}: cannot be read ({error.strerror})") from error


def _stdlib_name(path: str) -> str:
    name = path.removeprefix(PYTHON)
    if name in READERS:
        return name
    nearest = difflib.get_close_matches(name, READERS, n=1, cutoff=0)[0]
    known = ", ".join(PYTHON + known for known in READERS)
    raise SourceError(f"{path}: unknown; did you mean {PYTHON}{nearest}? (known: {known})")


def matching_files(source: SourceSettings, base: Path) -> list[Path]:
    """The files of a source that is no `python:` one, in the order of their names.

    Raises:
        SourceError: there is none.
    """
    pattern = base / Path(source.path).expanduser()
    if pattern.is_file():
        return [pattern]
    if pattern.is_dir():
        raise SourceError(f"{pattern}: is a folder; write {pattern}/**/*.txt for the files in it")
    # unlike Path.glob, this takes absolute patterns and leaves hidden files alone
    names = sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207
    found = (Path(name) for name in names)
    if files := [path for path in found if path.is_file()]:
        return files
    raise SourceError(f"{pattern}: no such file; check the path or the glob")


def require_text(path: Path) -> None:
    """Refuse a file that is no text, such as a picture or a program that a glob matches.

    By the control characters in its first 64 KiB: text has none, a few are dirt, and where they
    are more than one byte in a hundred it is none (of random bytes they are nine, of UTF-16
    fifty). Bytes that are no UTF-8 prove nothing: text in Latin-1, Windows-1251 or GBK is full of
    them.

    Raises:
        SourceError: it is no text, or can't be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error
    n_controls = len(head) - len(head.translate(None, _NOT_IN_TEXT))
    if 100 * n_controls > len(head):
        raise SourceError(
            f"{path}: is no text ({n_controls:,} of its first {len(head):,} bytes are control"
            " characters); narrow the path so that it isn't matched, or move it away; if it is text"
            " in UTF-16, convert it: iconv -f UTF-16 -t UTF-8"
        )


def _read_text(path: Path, piece_characters: int) -> Iterator[str]:
    if path.stat().st_size <= WHOLE_FILE_BYTES:
        yield path.read_text(encoding="utf-8", errors="replace")
        return
    cutter = PieceCutter(piece_characters) if piece_characters else None
    part: list[str] = []
    characters = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        while line := lines.readline(cutter.longest_line if cutter else LONGEST_PART_CHARACTERS):
            part.append(line)
            characters += len(line)
            is_end = cutter.ends_after(line) if cutter else not line.strip()
            if (is_end and characters >= PART_CHARACTERS) or characters >= LONGEST_PART_CHARACTERS:
                yield "".join(part)
                part, characters = [], 0
    yield "".join(part)


def _read_json_lines(path: Path, field: str) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _json_text(line, field, f"{path}, line {number}")


def _json_text(line: str, field: str, where: str) -> str:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"{where}: not a JSON value ({error})") from error
    if not isinstance(record, dict):
        raise SourceError(f"{where}: an object with the field {field!r} is needed, not {line[:40]}")
    if field not in record:
        raise SourceError(
            f"{where}: no field {field!r}; it has {', '.join(map(repr, record)) or 'none'}"
            " (name the right one as `field` of the source)"
        )
    if not isinstance(text := record[field], str):
        raise SourceError(f"{where}: the field {field!r} is no text but {str(text)[:40]}")
    return text
