"""The documents of text files, JSON lines and JSON arrays, as their bytes come."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

import orjson

from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.pieces import PieceCutter, longest_line

WHOLE_FILE_BYTES = 65_536
"""A text file up to this size is one document."""

PART_CHARACTERS = 16_384
"""A larger one is cut at the first blank line after this many characters."""

LONGEST_PART_CHARACTERS = 4 * PART_CHARACTERS
"""Text without blank lines is cut at a line's end after this many, a longer line wherever it is."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_BETWEEN = re.compile(r"[\s,]*")
_ARRAY_CHARACTERS = 1 << 20
_LONGEST_ELEMENT_CHARACTERS = 256 << 20
"""Of a JSON array; what is longer is no element, but an array that doesn't close."""


class OddRecordError(Exception):
    """A record without a text; says why."""


def decoded(data: bytes) -> str:
    """A whole file as text."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace").read()


def read_parts(file: BinaryIO, piece_characters: int) -> Iterator[str]:
    """A large text file in its parts."""
    cutter = PieceCutter(piece_characters) if piece_characters else None
    part: list[str] = []
    characters = 0
    longest = longest_line(piece_characters) if cutter else LONGEST_PART_CHARACTERS
    with io.TextIOWrapper(file, encoding="utf-8", errors="replace") as lines:
        while line := lines.readline(longest):
            part.append(line)
            characters += len(line)
            is_end = cutter.ends_after(line) if cutter else not line.strip()
            if (is_end and characters >= PART_CHARACTERS) or characters >= LONGEST_PART_CHARACTERS:
                yield "".join(part)
                part, characters = [], 0
    yield "".join(part)


def read_json_lines(
    file: BinaryIO, field: str, name: str, left_out: LeftOut, *, is_begin: bool = True
) -> Iterator[str]:
    """The text of each line's object; a line without one is left out.

    `is_begin`: the file's first bytes are among these, and may be a byte order mark.
    """
    encoding = "utf-8-sig" if is_begin else "utf-8"
    with io.TextIOWrapper(file, encoding=encoding, errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            left_out.rows = number
            if line.strip():
                try:
                    text = text_in(_loads(line), field)
                except OddRecordError as odd:
                    left_out.add_record(f"{name}, line", number, str(odd))
                else:
                    left_out.records += 1
                    yield text


def read_json_array(file: BinaryIO, field: str, name: str, left_out: LeftOut) -> Iterator[str]:
    """The text of each element's object; one without is left out."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace") as lines:
        for number, element in enumerate(_elements(lines, name), start=1):
            left_out.rows = number
            try:
                text = text_in(element, field)
            except OddRecordError as odd:
                left_out.add_record(f"{name}, element", number, str(odd))
            else:
                left_out.records += 1
                yield text


def text_in(record: Any, field: str) -> str:
    """The text in the field; raises `OddRecordError`."""
    if not isinstance(record, dict):
        has = str(record)[:40]
        raise OddRecordError(f"an object with the field {field!r} is needed, not {has}")
    if field not in record:
        has = ", ".join(map(repr, record)) or "none"
        raise OddRecordError(
            f"no field {field!r}; it has {has} (name the right one as `field` of the source)"
        )
    if not isinstance(text := record[field], str):
        raise OddRecordError(f"the field {field!r} is no text but {str(text)[:40]}")
    if not text.isascii() and _HALF_CHARACTER.search(text):
        raise OddRecordError(f"the field {field!r} holds half a character")
    return text


def _loads(line: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            return json.loads(line)  # takes NaN, as many tools write it beside the text
        except (ValueError, RecursionError):
            raise OddRecordError(f"not a JSON value ({error})") from error


def _elements(text: TextIO, name: str) -> Iterator[Any]:
    """The elements of a JSON array, one at a time, however large it is."""
    decode = json.JSONDecoder().raw_decode
    buffer = text.read(_ARRAY_CHARACTERS).lstrip().removeprefix("[")
    at = 0
    while True:
        at = _BETWEEN.match(buffer, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if buffer.startswith("]", at):
            return
        try:
            element, end = decode(buffer, at)
        except (ValueError, RecursionError):
            end = len(buffer)
        if end < len(buffer):  # else what stands at the end may go on
            yield element
            at = end
            continue
        rest = buffer[at:]
        more = text.read(max(_ARRAY_CHARACTERS, len(rest)))
        if not more or len(rest) > _LONGEST_ELEMENT_CHARACTERS:
            raise SourceError(f"{name}: a JSON array that doesn't go on at {rest[:40]!r}")
        buffer, at = rest + more, 0
