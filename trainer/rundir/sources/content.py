"""Tell what a file is by what is in it: how it is compressed, and what lies inside."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePath
from typing import BinaryIO, cast

import orjson

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.text_rules import TextRules

JSON_LINES_SUFFIXES = {".jsonl", ".jsonlines", ".ndjson"}

_HEAD_BYTES = 65_536
_READ_BYTES = 1 << 20
_NOT_IN_TEXT = bytes(set(range(0x20)) - set(b"\a\b\t\n\v\f\r\x1a\x1b"))
"""Control characters, but for layout, the end of a DOS file and terminal colours."""


class Kind(Enum):
    """What a file's text is in."""

    TEXT = "text"
    JSON_LINES = "JSON lines"
    JSON_ARRAY = "a JSON array"
    PARQUET = "a Parquet file"
    ARROW_FILE = "an Arrow file"
    ARROW_STREAM = "an Arrow stream"


TABLES = {Kind.PARQUET, Kind.ARROW_FILE, Kind.ARROW_STREAM}


@dataclass(frozen=True, slots=True)
class Compression:
    """One way in which a file may be compressed."""

    name: str
    magic: bytes
    suffixes: frozenset[str]
    open: Callable[[BinaryIO], BinaryIO]


# each library is loaded where a file wants it: a console opens without any


def _open_gzip(file: BinaryIO) -> BinaryIO:
    import gzip  # noqa: PLC0415

    return cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="rb"))


def _open_bzip2(file: BinaryIO) -> BinaryIO:
    import bz2  # noqa: PLC0415

    return cast("BinaryIO", bz2.BZ2File(file))


def _open_xz(file: BinaryIO) -> BinaryIO:
    import lzma  # noqa: PLC0415

    return cast("BinaryIO", lzma.LZMAFile(file))


def _open_zstd(file: BinaryIO) -> BinaryIO:
    from trainer.rundir.sources.zstd import ZstdReader  # noqa: PLC0415

    return cast("BinaryIO", io.BufferedReader(ZstdReader(file), _READ_BYTES))


def _damages() -> tuple[type[Exception], ...]:
    """What the libraries raise at bytes that are none of theirs, or end too soon."""
    import gzip  # noqa: PLC0415
    import lzma  # noqa: PLC0415
    import zlib  # noqa: PLC0415

    import zstandard  # noqa: PLC0415

    return gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", frozenset({".gz", ".gzip"}), _open_gzip),
    Compression("bzip2", b"BZh", frozenset({".bz2"}), _open_bzip2),
    Compression("xz", b"\xfd7zXZ\0", frozenset({".xz"}), _open_xz),
    Compression("zstd", b"\x28\xb5\x2f\xfd", frozenset({".zst", ".zstd"}), _open_zstd),
)

_TABLES = ((b"PAR1", Kind.PARQUET), (b"ARROW1", Kind.ARROW_FILE), (b"\xff" * 4, Kind.ARROW_STREAM))

_UNPACK = "unpack it, and name the files that are in it"
_AS_JSON_LINES = "write its text as JSON lines (.jsonl), and name those"
_WEB_ARCHIVE = b"WARC/"
_REFUSED = (
    (0, b"PK\x03\x04", "a zip archive (or a document of an office program)", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"SQLite format 3\0", "an SQLite database", _AS_JSON_LINES),
    (0, b"%PDF-", "a PDF", "take the text out of it (pdftotext), and name that"),
)
"""Where in a file which bytes stand, what it is then, and what to do."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file is."""

    kind: Kind
    compression: Compression | None = None


def content_of(path: Path, field: str, rules: TextRules, *, refuses: bool = True) -> Content:
    """What the file is, by its first bytes, and by its name where these leave it open.

    Text is known by the control characters in the first 64 KiB: it has none, a few are dirt, and
    where they are more than one byte in a hundred it is none (of random bytes they are nine, of
    UTF-16 fifty). Bytes that are no UTF-8 prove nothing: text in Latin-1, Windows-1251 or GBK is
    full of them. JSON objects with a text in `field`, one a line, are JSON lines, whatever the
    name.

    `refuses=False` takes for text what is known to have been taken for it before.

    Raises:
        SourceError: it is no text, or can't be read.
    """
    if rules.trusts_names and not refuses:
        is_lines = path.suffix.lower() in JSON_LINES_SUFFIXES
        return Content(Kind.JSON_LINES if is_lines else Kind.TEXT)
    with readable(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        for magic, kind in _TABLES:
            if head.startswith(magic):
                return Content(kind)
        compression = next((c for c in COMPRESSIONS if head.startswith(c.magic)), None)
        if compression is not None:
            file.seek(0)
            head = compression.open(file).read(_HEAD_BYTES)
    where = f"{shown(path)}, in {compression.name}" if compression else shown(path)
    if refuses and rules.refuses_web_archives and head.startswith(_WEB_ARCHIVE):
        raise SourceError(
            f"{where}: is no text but a web archive (WARC, WET); {_AS_JSON_LINES} (warcio reads"
            " the pages, trafilatura their text)"
        )
    if refuses:
        _require_text(head, where)
    name = PurePath(path.name)
    if compression is not None and name.suffix.lower() in compression.suffixes:
        name = PurePath(name.stem)
    return Content(_kind_of_text(head, name.suffix.lower(), field, rules), compression)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read inside into a `SourceError` that names it."""
    try:
        yield
    except _damages() as error:
        raise SourceError(
            f"{shown(path)}: is damaged or cut off ({error}); put it there again, or move it away"
        ) from error
    except OSError as error:
        reason = error.strerror or error  # bz2 tells damage so, without a number
        raise SourceError(f"{shown(path)}: cannot be read ({reason})") from error


@contextmanager
def opened(path: Path, compression: Compression | None) -> Iterator[BinaryIO]:
    """The file's bytes, decompressed as they are read; raises `SourceError`."""
    with readable(path), path.open("rb", buffering=_READ_BYTES) as file:
        yield file if compression is None else compression.open(file)


def _require_text(head: bytes, where: str) -> None:
    refused = [(kind, mend) for at, magic, kind, mend in _REFUSED if head[at:].startswith(magic)]
    refused += [
        (f"compressed twice, by {c.name} inside", _UNPACK)
        for c in COMPRESSIONS
        if head.startswith(c.magic)
    ]
    refused += [
        (f"{kind.value} that is compressed as a whole", "unpack it")
        for magic, kind in _TABLES
        if head.startswith(magic)
    ]
    for kind, mend in refused:
        raise SourceError(
            f"{where}: is no text but {kind}; {mend}, or narrow the path so that it isn't matched"
        )
    n_controls = len(head) - len(head.translate(None, _NOT_IN_TEXT))
    if 100 * n_controls > len(head):
        raise SourceError(
            f"{where}: is no text ({n_controls:,} of its first {len(head):,} bytes are"
            " control characters); narrow the path so that it isn't matched, or move it away; if it"
            " is text in UTF-16, convert it: iconv -f UTF-16 -t UTF-8; if it holds token ids, name"
            " it as tokens:PATH"
        )


def _kind_of_text(head: bytes, suffix: str, field: str, rules: TextRules) -> Kind:
    if suffix in JSON_LINES_SUFFIXES or _holds_json_lines(head, field):
        return Kind.JSON_LINES
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    is_array = suffix == ".json" and begin.startswith(b"[") and begin[1:].lstrip()[:1] == b"{"
    return Kind.JSON_ARRAY if is_array and rules.reads_arrays else Kind.TEXT


def _holds_json_lines(head: bytes, field: str) -> bool:
    """Whether the first line that isn't blank is a whole object with a text in the field."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    try:
        record = orjson.loads(line) if line.startswith(b"{") else None
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and isinstance(record.get(field), str)
