"""What is wrong with an array that no trainer wrote so, and putting it right."""

import json
from pathlib import Path

import orjson
import pytest

from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.mending import mend, wrong_with
from trainer.rundir.records.record_file import load_records
from trainer.rundir.records.record_lines import Record, encode_record

RECORDS: list[Record] = [{"step": step, "loss": 5.5 / step, "arm": "b[o]oks"} for step in (1, 2, 3)]
WHOLE = b"[\n" + b",\n".join(map(encode_record, RECORDS)) + b"\n]\n"
LINES = b"".join(encode_record(record) + b"\n" for record in RECORDS)

OTHERWISE = {
    "JSON lines": (LINES, "is JSON lines, not an array"),
    "pretty": (
        orjson.dumps(RECORDS, option=orjson.OPT_INDENT_2),
        "is an array, but not of one record a line",
    ),
    "one line": (orjson.dumps(RECORDS), "is an array, but not of one record a line"),
    "byte-order mark": (b"\xef\xbb\xbf" + WHOLE, "begins with a byte-order mark"),
    "no commas": (b"[\n" + LINES + b"]\n", "its records stand without brackets or commas"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".loss.json"


@pytest.mark.parametrize("kind", OTHERWISE)
def test_another_layout_is_named_refused_and_put_right_with_the_same_records(
    path: Path, kind: str
) -> None:
    data, reason = OTHERWISE[kind]
    path.write_bytes(data)
    assert reason in wrong_with(data)
    with pytest.raises(HistoryError, match=r"verify .* --mend"):
        load_records(path)
    done = mend(path)
    assert done is not None
    kept = path.with_name(".loss.json.unmended-1")
    assert (done.n_records, done.kept_as) == (3, kept)
    assert kept.read_bytes() == data
    assert load_records(path).records == RECORDS
    assert mend(path) is None


@pytest.mark.parametrize(
    ("written", "named"), [("1e400", "Infinity"), ("NaN", "NaN"), ("-1e999", "-Infinity")]
)
def test_a_value_that_is_no_json_is_named_by_its_line_and_becomes_null(
    path: Path, written: str, named: str
) -> None:
    data = WHOLE.replace(b"5.5", written.encode())
    path.write_bytes(data)
    assert wrong_with(data).startswith("line 2 is no record in strict JSON")
    mend(path)
    first = load_records(path).records[0]
    assert (first["loss"], first["nonfinite"]) == (None, {"loss": named})
    assert load_records(path).records[1:] == RECORDS[1:]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\0" * 80, "holds only zero bytes"),
        (b"{}", "is an object, not an array"),
        (b"[1, 2, 3]", "holds a number as its element 1"),
        (b'["a"]', "holds a text as its element 1"),
        (b"hello", "line 1 is no record"),
        pytest.param(b'{"a":' * 100_000, "line 1 is no record", id="deep"),
        (b"\0" * 80 + WHOLE, "line 1 is no record in strict JSON: it holds zero bytes"),
        (WHOLE.replace(b'{"step":2', b'{"step"2'), "line 3 is no record"),
    ],
)
def test_what_holds_no_records_is_said_truly_and_left_as_it_is(
    path: Path, data: bytes, reason: str
) -> None:
    path.write_bytes(data)
    assert wrong_with(data).startswith(reason)
    with pytest.raises(HistoryError, match=r"can.t be mended|holds no records"):
        mend(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == data


@pytest.mark.parametrize("cut", range(WHOLE.index(b"\n,") if b"\n," in WHOLE else 60, len(WHOLE)))
def test_a_torn_end_is_no_fault_of_the_layout(cut: int) -> None:
    assert wrong_with(WHOLE[:cut]) == ""
    assert wrong_with(WHOLE[:cut] + b"\0" * 40) == ""


def test_an_append_that_a_power_cut_took_from_under_the_next_one_is_torn() -> None:
    lost = len(b',\n{"step":4}')
    assert wrong_with(WHOLE + b"\0" * (lost - 3) + b',\n{"step":5}\n]\n') == ""


def test_an_array_written_by_python_or_jq_in_lines_is_taken_as_it_is(path: Path) -> None:
    path.write_text("[" + ",\n".join(map(json.dumps, RECORDS)) + "]\n")
    assert mend(path) is None
    assert load_records(path).records == RECORDS
