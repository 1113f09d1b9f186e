"""Numeric fields that another trainer writes into its loss records: found, and read one by one.

Nothing of this is done unless somebody asks for it: `LossRecord` doesn't look into such fields.
"""

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trainer.rundir.reading import reading
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.records.record_fields import number, step_of
from trainer.rundir.records.record_lines import Reader, parse_lines, read_records

_END_BYTES = 1 << 18
_MOST_FIELDS = 200
_KNOWN = frozenset(LossRecord.__struct_fields__)


class FieldValue(NamedTuple):
    """A field of one record that tells its step and the field."""

    step: int
    value: float


def numeric_fields(path: Path) -> tuple[str, ...]:
    """Foreign names of what the first and the newest records tell beside what each reader takes.

    Looks at 256 KiB at either end, so that the cost doesn't depend on the length. Raises `OSError`.
    """
    with reading(path, follows_links=False) as file:
        head = file.read(_END_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(len(head), size - _END_BYTES))
        tail = file.read(_END_BYTES)
    if size > 2 * _END_BYTES:
        tail = tail[tail.find(b"\n") + 1 :]
    else:
        head, tail = head + tail, b""
    found: dict[str, None] = {}
    for part in (head, tail):
        records, _, _ = parse_lines(part, read_records)
        for record in records:
            for name in record:
                if name not in _KNOWN and name not in found and number(record, name) is not None:
                    found[name] = None
    return tuple(found)[:_MOST_FIELDS]


def field_reader(name: str) -> Reader[FieldValue | None]:
    """Reads one field beside the step; `None` for a record that doesn't tell both."""
    decoder = _decoder(name)

    def read(array: bytes) -> list[FieldValue | None] | None:
        if decoder is not None:
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                return [_value(each.step, each.value) for each in decoder.decode(array)]
        records = read_records(array)
        if records is None:
            return None
        return [_value(record.get("step"), record.get(name)) for record in records]

    return read


def _decoder(name: str) -> msgspec.json.Decoder[list[Any]] | None:
    """Looks into this field alone; `None` for a name with characters that it doesn't take."""
    fields = [("step", Any, None), ("value", Any, None)]
    try:
        shape: Any = msgspec.defstruct("Told", fields, rename={"value": name}, gc=False)
    except ValueError:
        return None
    return msgspec.json.Decoder(list[shape])


def _value(step: Any, value: Any) -> FieldValue | None:
    if not (type(step) is int and type(value) is float):  # most are
        step, value = step_of({"step": step}), number({"value": value}, "value")
    return None if step is None or value is None else FieldValue(step, value)
