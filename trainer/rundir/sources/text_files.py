"""Read the documents of one file, and tell whether it is text at all."""

from collections.abc import Iterator
from pathlib import Path

import orjson

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.pieces import PieceCutter

JSON_LINES_SUFFIXES = {".jsonl", ".jsonlines", ".ndjson"}

WHOLE_FILE_BYTES = 65_536
"""A text file up to this size is one document."""

PART_CHARACTERS = 16_384
"""A larger one is cut at the first blank line after this many characters."""

LONGEST_PART_CHARACTERS = 4 * PART_CHARACTERS
"""Text without blank lines is cut at a line's end after this many, a longer line wherever it is."""

_HEAD_BYTES = 65_536
_NOT_IN_TEXT = bytes(set(range(0x20)) - set(b"\a\b\t\n\v\f\r\x1a\x1b"))
"""Control characters, but for layout, the end of a DOS file and terminal colours."""

_UNPACK = "unpack it, and name the files that are in it"
_AS_JSON_LINES = "write its text as JSON lines (.jsonl), and name those"
_KINDS = (
    (0, b"\x1f\x8b", "compressed by gzip", _UNPACK),
    (0, b"BZh", "compressed by bzip2", _UNPACK),
    (0, b"\xfd7zXZ\0", "compressed by xz", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACK),
    (0, b"PK\x03\x04", "a zip archive (or a document of an office program)", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"PAR1", "a Parquet file", _AS_JSON_LINES),
    (0, b"ARROW1", "an Arrow file", _AS_JSON_LINES),
    (0, b"SQLite format 3\0", "an SQLite database", _AS_JSON_LINES),
    (0, b"%PDF-", "a PDF", "take the text out of it (pdftotext), and name that"),
)
"""Where in a file which bytes stand, what it is then, and what to do."""


def require_text(path: Path, field: str) -> None:
    """Refuse a file that is no text, or is text of a kind that its name doesn't tell.

    Known by its first bytes, or by the control characters in the first 64 KiB: text has none, a
    few are dirt, and where they are more than one byte in a hundred it is none (of random bytes
    they are nine, of UTF-16 fifty). Bytes that are no UTF-8 prove nothing: text in Latin-1,
    Windows-1251 or GBK is full of them. JSON objects with a text in `field` are JSON lines.

    Raises:
        SourceError: it is no text, or can't be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(f"{shown(path)}: cannot be read ({error.strerror})") from error
    for offset, magic, kind, mend in _KINDS:
        if head[offset:].startswith(magic):
            raise SourceError(
                f"{shown(path)}: is no text but {kind}; {mend}, or narrow the path so that it"
                " isn't matched"
            )
    n_controls = len(head) - len(head.translate(None, _NOT_IN_TEXT))
    if 100 * n_controls > len(head):
        raise SourceError(
            f"{shown(path)}: is no text ({n_controls:,} of its first {len(head):,} bytes are"
            " control characters); narrow the path so that it isn't matched, or move it away; if it"
            " is text in UTF-16, convert it: iconv -f UTF-16 -t UTF-8"
        )
    if not _is_json_lines(path) and _holds_json_lines(head, field):
        raise SourceError(
            f"{shown(path)}: holds JSON objects with a text in {field!r}, one a line; give it a"
            " name that ends in .jsonl (a link will do), so that this text is trained on and not"
            " the JSON around it"
        )


def read_file_documents(path: Path, field: str, piece_characters: int) -> Iterator[str]:
    """The documents of a file, as `read_documents` tells; raises `SourceError`."""
    try:
        if _is_json_lines(path):
            yield from _read_json_lines(path, field)
        else:
            yield from _read_text(path, piece_characters)
    except OSError as error:
        raise SourceError(f"{shown(path)}: cannot be read ({error.strerror})") from error


def _is_json_lines(path: Path) -> bool:
    return path.suffix.lower() in JSON_LINES_SUFFIXES


def _holds_json_lines(head: bytes, field: str) -> bool:
    """Whether the first line that isn't blank is a whole object with a text in the field."""
    line = head.lstrip().partition(b"\n")[0]
    try:
        record = orjson.loads(line) if line.startswith(b"{") else None
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and isinstance(record.get(field), str)


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
                yield _json_text(line, field, f"{shown(path)}, line {number}")


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
