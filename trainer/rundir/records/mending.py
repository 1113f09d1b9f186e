"""What is wrong with an array of records that no trainer wrote so, and putting it right.

An editor, a sync tool or `jq` may leave the same records in another layout. What each of them says
is kept; the file as it was is kept too.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.atomic import replace_keeping
from trainer.rundir.names import quoted
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import RECORDS_BYTES, read_file
from trainer.rundir.records.record_fields import step_of
from trainer.rundir.records.record_lines import (
    Record,
    encode_record,
    parse_array,
    parse_json,
    read_records,
    whole_head,
)

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRight:
    """An array that was laid out as one again."""

    n_records: int
    kept_as: Path | None
    """The file as it was."""


def wrong_with(data: bytes) -> str:
    """Why `data` is no array of one record a line, for a person; empty if it is, or if only its
    end is torn (which the next start repairs).
    """
    if parse_array(data, read_records):
        return ""
    if not data.strip(b"\0 \r\n\t"):
        return "holds only zero bytes" if b"\0" in data else "is empty"
    if data.startswith(_BOM):
        return "begins with a byte-order mark, as some editors write it"
    document = parse_json(data)
    if document is not None:
        return _wrong_document(document)
    if not data.startswith(b"[") and _is_record(data.split(b"\n")[0]):
        return "is JSON lines, not an array"
    return _wrong_line(data)


def _wrong_document(document: Any) -> str:
    if not isinstance(document, list):
        kind = "an object" if isinstance(document, dict) else "a value"
        return f"is {kind}, not an array of records"
    for number, value in enumerate(document, start=1):
        if not isinstance(value, dict):
            return f"holds {_kind(value)} as its element {number}, not a record"
    return "is an array, but not of one record a line" if document else ""


def _is_record(line: bytes) -> bool:
    return read_records(b"[" + line.rstrip(b", \r") + b"]") is not None


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "an array"
    return "null" if value is None else "a number"


def _wrong_line(data: bytes) -> str:
    """The first line that is no record, where it is not the last one."""
    _, end = whole_head(data, read_records)
    if not data.startswith(b"[") and end == len(data.rstrip()):
        return "is no array: it does not begin with a bracket"
    if end and not (data.startswith(b"[") and parse_json(data[:end] + b"]") is not None):
        return "is no array: its records stand without brackets or commas"
    lines = data.split(b"\n")
    first = data[:end].count(b"\n") + 1 if end else 0
    # brackets alone are no record, and no fault: an append that was lost leaves them in the middle
    number, line = next(
        (each for each in enumerate(lines[first:], first + 1) if each[1].strip(b"[], \r")),
        (0, b""),
    )
    is_followed = any(each.rstrip(b", \r").endswith(b"}") for each in lines[number:])
    if data.startswith(b"[") and (b"\0" in line or not is_followed):
        return ""  # torn by a crash
    return f"line {number} is no record in strict JSON: {_reason(line)}"


def _reason(line: bytes) -> str:
    if b"\0" in line:
        return "it holds zero bytes"
    try:
        orjson.loads(line.strip(b"[], \r"))
    except orjson.JSONDecodeError as error:
        return error.msg.partition(": line")[0]
    return "it is no object"


def mend(path: Path) -> PutRight | None:
    """Put the array at `path` right and keep the file as it was beside it; `None`: it is right.

    The same records in the same order; a value that is no JSON (NaN, 1e400) becomes null, named in
    `nonfinite`. The caller holds the trainer's lock. Raises `HistoryError` where records can't be
    told from what is there, with the line; nothing is changed then. Raises `OSError`.
    """
    data = read_file(path, at_most=RECORDS_BYTES, follows_links=False)
    wrong = wrong_with(data)
    if not wrong:
        return None
    try:
        records = list(_records_in(data.removeprefix(_BOM)))
    except ValueError as error:
        raise HistoryError(f"{path}: {wrong}; it can't be mended: {error}") from error
    text = b"[\n" + b",\n".join(map(encode_record, records)) + b"\n]\n"
    again = parse_array(text, read_records)
    if not records or again is None or len(again) != len(records):
        raise HistoryError(f"{path}: {wrong}; it holds no records to be mended")
    kept = replace_keeping(path, text, "unmended")
    return PutRight(n_records=len(records), kept_as=kept)


def _records_in(data: bytes) -> Iterator[Record]:
    """The records of an array in any layout, or of JSON lines; raises `ValueError`."""
    text = data.decode()
    try:
        written: Any = json.loads(text)
        values = written if isinstance(written, list) else [written]
        places = [f"element {number}" for number in range(1, len(values) + 1)]
    except (json.JSONDecodeError, RecursionError):
        lines = [
            (number, line.strip("[], \r\t")) for number, line in enumerate(text.split("\n"), 1)
        ]
        told = [(number, line) for number, line in lines if line]
        values = [_value(number, line) for number, line in told]
        places = [f"line {number}" for number, _ in told]
    for place, value in zip(places, values, strict=True):
        if not isinstance(value, dict) or step_of(value) is None:
            raise ValueError(f"{place} is no record of a step")
        yield value


def _value(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"line {number}: is nested too deep") from None


def how_to_mend(path: Path) -> str:
    """What to type about an array that isn't laid out as one."""
    return (
        f"`andrea-console verify {quoted(path.parent)} --mend` puts it right where that"
        " can be done, and keeps it as it is beside"
    )
