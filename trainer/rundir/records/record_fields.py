"""Values out of records that anyone may have written: what does not fit is `None`; pure."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args, get_type_hints

from trainer.rundir.checkpoints.checkpoint import INT32_MAX


def step_of(record: Mapping[str, Any]) -> int | None:
    """The record's step: a whole number that a checkpoint's header could hold."""
    step = record.get("step")
    if type(step) is not int:
        step = whole(record, "step")
    return step if step is not None and 0 <= step <= INT32_MAX else None


def whole(record: Mapping[str, Any], key: str) -> int | None:
    """A whole number within 64 bits, also one written as `5.0`; never a boolean."""
    value = record.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(2**63) <= value < 2**63 else None


def number(record: Mapping[str, Any], key: str) -> float | None:
    """A finite number; never a boolean."""
    value = record.get(key)
    if type(value) is not float:  # most are, and a history has hundreds of thousands
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        value = float(value)
    return value if math.isfinite(value) else None


def words(record: Mapping[str, Any], key: str) -> str:
    """A text; empty for anything else."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def fields_told(kind: type, record: Mapping[str, Any]) -> dict[str, Any]:
    """What the record tells of the fields of `kind`, by their names and declared types.

    Left out is what it doesn't tell, and every field that is no number and no text.
    """
    found = {name: read(record, name) for name, read in _readers(kind).items()}
    return {name: value for name, value in found.items() if value is not None}


@cache
def _readers(kind: type) -> dict[str, Callable[[Mapping[str, Any], str], Any]]:
    by_type = {int: whole, float: number, str: words}
    types = {name: {*get_args(hint), hint} for name, hint in get_type_hints(kind).items()}
    return {
        name: read
        for name, of_field in types.items()
        for plain, read in by_type.items()
        if of_field <= {plain, plain | None, type(None)}
    }
