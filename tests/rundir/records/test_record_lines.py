import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_lines import encode_record, parse_lines, read_records, whole_head

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
_RECORDS = st.lists(
    st.dictionaries(st.text(max_size=5), _VALUES, max_size=3), min_size=1, max_size=5
)
_PIECES = [
    b"[",
    b"]",
    b"\n",
    b",",
    b"{",
    b"}",
    b'{"a":1}',
    b'{"a":{"b":"}\\n"}}',
    b"\0",
    b" ",
    b"x",
]
_BYTES = st.binary(max_size=80) | st.lists(st.sampled_from(_PIECES)).map(b"".join)


def _array(records: list[dict[str, Any]]) -> bytes:
    return b"[\n" + b",\n".join(map(encode_record, records)) + b"\n]\n"


@pytest.mark.parametrize(
    ("value", "name"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_what_is_not_finite_is_null_and_named(value: float, name: str) -> None:
    record = {
        "step": 3,
        "loss": value,
        "val_losses": {"docs": value, "code": 1.5},
        "parts": [value],
    }
    assert orjson.loads(encode_record(record)) == {
        "step": 3,
        "loss": None,
        "val_losses": {"docs": None, "code": 1.5},
        "parts": [None],
        "nonfinite": {"loss": name, "val_losses.docs": name, "parts.0": name},
    }


def test_finite_records_name_nothing_and_keep_every_bit() -> None:
    record = {"loss": 0.1 + 0.2, "grad_norm": 5e-324, "step": 2**53}
    assert orjson.loads(encode_record(record)) == record


@settings(max_examples=50)
@given(records=_RECORDS)
def test_an_encoded_record_is_one_line_of_strict_json(records: list[dict[str, Any]]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert len(json.loads(_array(records), parse_constant=refuse)) == len(records)
    assert all(b"\n" not in encode_record(record) for record in records)


@settings(max_examples=50)
@given(records=_RECORDS, data=st.data())
def test_the_start_of_an_array_gives_its_first_records_whole(
    records: list[dict[str, Any]], data: st.DataObject
) -> None:
    text = _array(records)
    cut = data.draw(st.integers(0, len(text)))
    written = orjson.loads(text)
    followed, end_of_followed, damaged = parse_lines(text[:cut], read_records)
    for found, end in ((followed, end_of_followed), whole_head(text[:cut], read_records)):
        assert found == written[: len(found)]
        assert len(found) >= min(text[:cut].count(b"\n") - 1, len(written))
        assert parse_lines(text[end:], read_records)[0] == written[len(found) :]
    assert damaged == 0


@given(data=_BYTES)
@example(b'{"a":1}\n' * 3)
@example(b"[\n1\n,{}\n")
def test_any_bytes_are_parsed_without_an_error(data: bytes) -> None:
    records, end, damaged = parse_lines(data, read_records)
    assert all(isinstance(record, dict) for record in records)
    losses, *same = parse_lines(data, read_loss_records)
    assert (len(losses), same) == (len(records), [end, damaged])
    assert 0 <= end <= len(data)
    assert damaged <= data.count(b"\n")
    assert (end > 0) == bool(records)
    if records:
        assert data[end - 1 : end] == b"}"


def test_damaged_lines_are_counted_where_records_follow() -> None:
    text = b'[\n{"step":1},\n{"st\0\0\0\n{"step":3},\nx\ny\n{"step":6},\ntorn\n'
    records, end, damaged = parse_lines(text, read_loss_records)
    assert [record.step for record in records] == [1, 3, 6]
    assert damaged == 3
    assert text[end:] == b",\ntorn\n"
    head, end = whole_head(text, read_loss_records)
    assert (head, text[:end]) == ([LossRecord(step=1)], b'[\n{"step":1}')


def test_a_line_without_its_newline_waits() -> None:
    assert parse_lines(b'[\n{"step":1},\n{"step":2}', read_records)[0] == [{"step": 1}]
