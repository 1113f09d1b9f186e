"""Fields out of records that anyone may have written."""

from dataclasses import dataclass
from typing import Any

import pytest

from trainer.rundir.records.record_fields import fields_told


@dataclass(kw_only=True)
class Told:
    whole: int = 0
    number: float | None = None
    words: str = ""
    flag: bool = False
    names: tuple[str, ...] = ()
    by_name: dict[str, int] | None = None


def test_the_fields_of_a_type_are_taken_from_a_record_by_their_types() -> None:
    record = {"whole": 5.0, "number": 2, "words": "a", "other": 1}
    assert fields_told(Told, record) == {"whole": 5, "number": 2.0, "words": "a"}


@pytest.mark.parametrize(
    "odd", [{"whole": "5"}, {"whole": True}, {"number": "2"}, {"number": 1e999}, {"number": None}]
)
def test_what_a_field_cant_be_is_left_out(odd: dict[str, Any]) -> None:
    assert odd.keys().isdisjoint(fields_told(Told, odd))


def test_what_is_neither_number_nor_text_is_left_to_its_reader() -> None:
    record = {"flag": True, "names": ["a"], "by_name": {"a": 1}}
    assert fields_told(Told, record) == {"words": ""}
