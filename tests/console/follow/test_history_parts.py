"""A history that is read in two parts is the one that is read in a row."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.follow.history_parts import ReadHistory, find_cut, read_behind, read_history
from console.view.run_view import MarkKind
from tests.console.view.test_loss_history import assert_same
from trainer.rundir.records.record_lines import encode_record

NAN = float("nan")
_RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "step": st.integers(0, 20),
        "attempt": st.integers(1, 3) | st.none(),
        "phase": st.integers(1, 3),
        "arm": st.sampled_from(["", "a", "b", 5]),
        "loss": st.floats() | st.sampled_from([NAN, NAN, "five"]),
        "ms": st.floats(0, 1e5),
        "t": st.floats(0, 1e4),
        "tokens": st.integers(-(2**63), 2**63 - 1),
    },
)
_LINES = st.lists(_RECORDS.map(encode_record) | st.sampled_from([b"torn", b"{}", b"\0\0", b"}"]))


def write(folder: Path, lines: list[bytes]) -> Path:
    path = folder / ".loss.json"
    path.write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")
    return path


def ends(path: Path) -> list[int]:
    """Where a cut may lie: behind what looks like the end of a record."""
    data = path.read_bytes()
    return [at + 1 for at in range(len(data)) if data[at : at + 3] == b"},\n"]


def assert_read_on_as_in_a_row(read: ReadHistory, path: Path) -> None:
    """Reading on from what was read gives what reading in a row gives."""
    straight, damaged_lines = read_history(path), read.damaged_lines
    has_more = True
    while has_more:
        news = read.tail.look()
        assert not news.is_restarted
        read.history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    assert_same(read.history, straight.history)
    assert damaged_lines == straight.damaged_lines
    assert read.tail.offset == straight.tail.offset


@settings(max_examples=200)
@given(lines=_LINES, data=st.data())
def test_whatever_is_cut_anywhere_is_read_as_in_a_row(
    lines: list[bytes], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), lines)
        if not (cuts := ends(path)):
            return
        cut = data.draw(st.sampled_from(cuts))
        first, later = read_history(path, cut), read_behind(path, cut)
        assert_read_on_as_in_a_row(first.joined(later), path)


def record(step: int, **fields: Any) -> bytes:
    told = {"attempt": 1, "phase": 1, "arm": "a", "loss": 5.0, "ms": 100.0, "t": 1000.0 + step}
    return encode_record({"step": step, **told, **fields})


def split(path: Path) -> tuple[ReadHistory, ReadHistory]:
    cut = find_cut(path, path.stat().st_size)
    assert cut is not None
    return read_history(path, cut), read_behind(path, cut)


def test_a_run_with_restarts_pivots_stalls_and_replays_is_joined(tmp_path: Path) -> None:
    lines = [record(step, arm="abc"[step % 3]) for step in range(1, 400)]
    lines[100] = record(101, loss=NAN)
    lines += [record(step, attempt=2, phase=2, arm="d") for step in range(390, 500)]
    lines += [
        record(step, attempt=3, phase=2, arm="e", t=9000.0 + step) for step in range(500, 800)
    ]
    path = write(tmp_path, lines)
    first, later = split(path)
    read = first.joined(later)
    assert read.tail is later.tail
    assert_read_on_as_in_a_row(read, path)
    assert {mark.kind for mark in read.history.marks} >= {MarkKind.RESTART, MarkKind.NONFINITE}


def test_a_replay_behind_the_cut_that_may_take_a_mark_back_is_read_in_a_row(tmp_path: Path) -> None:
    lines = [record(step) for step in range(1, 300)]
    lines += [record(300, loss=NAN)]
    lines += [record(step) for step in range(301, 360)]
    lines += [record(step, attempt=2) for step in range(295, 620)]
    path = write(tmp_path, lines)
    first, later = split(path)
    read = first.joined(later)
    assert read.tail is first.tail
    assert_read_on_as_in_a_row(read, path)
    assert MarkKind.NONFINITE not in {mark.kind for mark in read.history.marks}


def test_too_few_records_known_before_the_cut_are_no_reason_to_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.follow.history_parts._BEFORE_BYTES", 2000)
    path = write(tmp_path, [record(step) for step in range(1, 600)])
    first, later = split(path)
    assert first.joined(later) is first
    assert_read_on_as_in_a_row(first, path)


def test_a_file_that_was_replaced_between_the_two_is_not_joined(tmp_path: Path) -> None:
    path = write(tmp_path, [record(step) for step in range(1, 600)])
    cut = find_cut(path, path.stat().st_size)
    assert cut is not None
    later = read_behind(path, cut)
    other = write(tmp_path / "..", [record(step, loss=4.0) for step in range(1, 600)])
    other.replace(path)
    first = read_history(path, cut)
    assert first.joined(later) is first
    assert_read_on_as_in_a_row(first, path)


def test_one_that_was_cut_and_is_shorter_now_is_not_joined(tmp_path: Path) -> None:
    path = write(tmp_path, [record(step) for step in range(1, 600)])
    cut = find_cut(path, path.stat().st_size)
    assert cut is not None
    later = read_behind(path, cut)
    write(tmp_path, [record(step) for step in range(1, 100)])
    first = read_history(path, cut)
    assert first.joined(later) is first
    assert_read_on_as_in_a_row(first, path)
