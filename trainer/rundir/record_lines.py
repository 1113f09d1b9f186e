"""The text of an array of records: `[`, one record a line, `]`; strict JSON in, whole lines out."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

Record = dict[str, Any]

_PARSED_BYTES = 256 << 10
"""Parsed at a time: what stays in a core's cache takes half the time of 50 MB at once."""


def encode_record(record: Mapping[str, Any]) -> bytes:
    """One line of strict JSON: a float that is not finite becomes null, named in `nonfinite`.

    A name inside another is dotted: `val_losses.docs`.
    """
    nonfinite = dict(_nonfinite(record, ""))
    return orjson.dumps({**record, "nonfinite": nonfinite} if nonfinite else record)


def _nonfinite(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, float) and not math.isfinite(value):
        yield name, str(value).replace("nan", "NaN").replace("inf", "Infinity")
    elif isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            yield from _nonfinite(item, f"{name}.{key}" if name else str(key))


def whole_head(data: bytes) -> tuple[list[Record], int]:
    """The records up to the first line that is not whole, and the offset behind the last."""
    records: list[Record] = []
    end = 0
    for line_end, record in _lines(data + b"\n"):
        if record is None:
            break
        records.append(record)
        end = line_end
    return records, end


def parse_lines(data: bytes) -> tuple[list[Record], int, int]:
    """The whole records in `data`, the offset behind the last, and how many lines before it are
    damaged. A line counts when its newline is there.
    """
    body = data[: data.rfind(b"\n") + 1]
    end = body.rfind(b"}") + 1
    records = parse_inner(body[:end].lstrip(b"[, \r\n"))
    if records is not None:
        return records, end, 0
    records, end = [], 0
    damaged = n_unread = 0
    for line_end, record in _lines(body):
        if record is None:
            n_unread += 1
        else:
            records.append(record)
            end = line_end
            damaged, n_unread = damaged + n_unread, 0
    return records, end, damaged


def _lines(body: bytes) -> Iterator[tuple[int, Record | None]]:
    """Each line but bare brackets: the offset behind its record, and the record if it is whole."""
    position = 0
    for line in body.split(b"\n")[:-1]:
        content = line.rstrip(b"], \r")
        if content.strip(b"[, "):
            record = parse_json(content.lstrip(b"[, "))
            yield position + len(content), record if isinstance(record, dict) else None
        position += len(line) + 1


def parse_array(data: bytes) -> list[Record] | None:
    """The records of a whole array, however long; `None` if they are not one a line."""
    if not data.startswith(b"["):
        return None
    records: list[Record] = []
    start, last = 1, data.rfind(b"}") + 1
    while start < last:
        line_end = data.find(b",\n", min(start + _PARSED_BYTES, last), last)
        end = last if line_end < 0 else line_end
        part = parse_inner(data[start:end].lstrip())
        if part is None:
            return None
        records += part
        start = end + len(b",\n")
    return records


def parse_inner(inner: bytes) -> list[Record] | None:
    """The records of an array without its brackets; `None` if they are not one a line."""
    records = parse_json(b"[" + inner + b"]")
    is_one_a_line = records is not None and inner.count(b"\n") == max(len(records) - 1, 0)
    if not is_one_a_line or not set(map(type, records)) <= {dict}:
        return None
    return records  # type: ignore[no-any-return]


def parse_json(data: bytes) -> Any:
    """The value of a strict JSON document; `None` if it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
