"""Reading loss records: typed where they are as the trainer writes them, tolerant where not."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rundir.records.loss_record import LossRecord, canonical_losses, read_loss_records

_FIELDS = LossRecord.__struct_fields__
_ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-2, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-5, 5).map(float)
    | st.text(max_size=4)
    | st.lists(st.integers(0, 9), max_size=2)
    | st.dictionaries(
        st.sampled_from(["loss", "ema", "x"]),
        st.sampled_from(["NaN", "Infinity", "-Infinity", "odd", 3]),
    )
)


def read(*records: dict[str, Any]) -> list[LossRecord]:
    found = read_loss_records(orjson.dumps(records))
    assert found is not None
    return found


@given(record=st.fixed_dictionaries({}, optional=dict.fromkeys((*_FIELDS, "other"), _ODD)))
def test_a_record_reads_alike_beside_well_written_ones_and_beside_odd_ones(
    record: dict[str, Any],
) -> None:
    (alone,) = read(record)
    beside_odd, _ = read(record, {"step": "odd"})
    assert alone == beside_odd
    assert all(type(getattr(alone, name)) is type(getattr(beside_odd, name)) for name in _FIELDS)


def test_what_a_field_cant_be_is_unknown_and_the_rest_of_the_record_counts() -> None:
    odd: dict[str, Any] = {"step": 3.0, "loss": "5", "arm": 7, "tokens": None, "ema": 4, "ms": True}
    assert read(odd) == [LossRecord(step=3, ema=4.0)]
    for step in (-1, 2**31, 1.5, "7", True):
        assert read({"step": step, "loss": 2.0}) == [LossRecord(loss=2.0)]


def test_a_loss_that_is_null_is_named_by_its_record() -> None:
    told, odd, plain = read(
        {"loss": None, "nonfinite": {"loss": "NaN"}},
        {"loss": None, "nonfinite": {"loss": "[red]", "ema": 5}},
        {"loss": 1.0},
    )
    assert [record.nonfinite_of("loss") for record in (told, odd, plain)] == ["NaN", "", ""]
    assert told.nonfinite_of("ema") == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[1]",
        b'[{"step":1},]',
        b'[{"loss":NaN}]',
        b'[{"step":1',
        b'[{"step":1}] x',
        b'[{"arm":"\xff"}]',
        b'[{"x":' + b"[" * 100_000,
        b'[{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
    ],
)
def test_what_is_no_strict_array_of_objects_gives_nothing(data: bytes) -> None:
    assert read_loss_records(data) is None


def test_the_last_record_of_a_step_counts_and_steps_ascend() -> None:
    first, second, again = read({"step": 1}, {"step": 2}, {"step": 1, "attempt": 2})
    assert canonical_losses([second, first, again, LossRecord()]) == ([1, 2], [again, second])
    assert canonical_losses([first, second]) == ([1, 2], [first, second])
    assert canonical_losses([LossRecord(), first]) == ([1], [first])
    assert canonical_losses([]) == ([], [])


def test_the_least_whole_number_is_read_alike_beside_a_record_of_another_kind() -> None:
    least = b'{"step":0,"tokens":-9223372036854775808}'
    alone = read_loss_records(b"[" + least + b"]")
    beside = read_loss_records(b"[" + least + b',{"step":1,"loss":"five"}]')
    assert alone is not None
    assert beside is not None
    assert alone[0] == beside[0]
