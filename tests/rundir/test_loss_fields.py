"""Numeric fields that another trainer writes into its loss records."""

from pathlib import Path

import orjson
import pytest

from trainer.rundir.records.loss_fields import FieldValue, field_reader, numeric_fields
from trainer.rundir.records.record_file import RecordArray


def write(path: Path, *records: dict[str, object]) -> None:
    array = RecordArray(path)
    for record in records:
        array.append(record)
    array.close()


def test_only_numbers_that_the_record_itself_does_not_know_are_fields(tmp_path: Path) -> None:
    write(
        tmp_path / "loss",
        {"step": 1, "loss": 2.0, "lr": 1e-3, "mfu": 0.4, "note": "x", "ok": True, "none": None},
        {"step": 2, "loss": 2.0, "val/acc \x1b[31m": 3, "parts": {"a": 1.0}},
    )
    assert numeric_fields(tmp_path / "loss") == ("mfu", "val/acc \x1b[31m")


def test_a_field_of_the_newest_records_of_a_long_history_is_found(tmp_path: Path) -> None:
    filler = [{"step": step, "text": "x" * 1000} for step in range(1000)]
    write(tmp_path / "loss", {"step": 0, "old": 1}, *filler, {"step": 2000, "new": 1})
    assert (tmp_path / "loss").stat().st_size > 1 << 19
    assert numeric_fields(tmp_path / "loss") == ("old", "new")


def test_a_missing_history_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        numeric_fields(tmp_path / "loss")


@pytest.mark.parametrize("name", ["mfu", "val/acc", 'a"b\\c', "class", "é\n", "", "value"])
def test_one_field_is_read_and_what_is_no_number_is_passed_over(name: str) -> None:
    told = [{"step": 1, name: 0.5}, {"step": 2}, {"step": 3, name: "x"}, {"step": 4.0, name: 7}]
    assert field_reader(name)(orjson.dumps(told)) == [
        FieldValue(1, 0.5),
        None,
        None,
        FieldValue(4, 7.0),
    ]
    assert field_reader(name)(b"[1]") is None
