"""Reading a long history in a child."""

import os
import signal
from pathlib import Path

import pytest

from console.follow.follower import Follower
from console.follow.history_parts import find_cut
from console.follow.read_ahead import WORTH_A_CHILD_BYTES, ReadAhead, read_ahead
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


def make_history(path: Path, n_records: int) -> RecordArray:
    array = RecordArray(path)
    for step in range(1, n_records + 1):
        array.append({"step": step, "attempt": 1, "phase": 1, "loss": 5.0 / step, "ema": 5.0})
    return array


def test_what_a_child_read_is_what_this_process_would_have_read_and_goes_on(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    array = make_history(run.loss, 50)
    follower, straight = Follower(run), Follower(run)
    follower.read_ahead = ReadAhead(run.loss)
    while not follower.is_complete:
        follower.look()
    straight.look()
    array.append({"step": 51, "attempt": 2, "phase": 1, "loss": 0.5, "ema": 0.6})
    array.close()
    view, same = follower.look(), straight.look()
    assert view.marks == same.marks
    assert view.n_records == same.n_records == 51
    assert follower.series.view().loss.tolist() == straight.series.view().loss.tolist()


def test_a_child_that_dies_leaves_the_reading_to_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("console.follow.read_ahead.read_history", lambda _: signal.pause())
        child = ReadAhead(run.loss)  # waits until it is killed
    os.kill(child.pids[0], signal.SIGKILL)
    with pytest.raises(EOFError):
        child.take(60.0)
    make_history(run.loss, 3).close()
    follower = Follower(run)
    follower.read_ahead = child
    assert follower.look().n_records == 3


def test_only_a_long_history_is_worth_a_child(tmp_path: Path) -> None:
    assert read_ahead(tmp_path / ".loss.json") is None
    make_history(tmp_path / ".loss.json", 3).close()
    assert read_ahead(tmp_path / ".loss.json") is None
    os.truncate(tmp_path / ".loss.json", WORTH_A_CHILD_BYTES)
    child = read_ahead(tmp_path / ".loss.json")
    assert child is not None
    read = child.take(60.0)
    assert read is not None
    assert len(read.history.series) == 3


def test_a_longer_one_is_read_by_two_and_looks_as_if_read_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.follow.read_ahead.WORTH_A_CHILD_BYTES", 1000)
    monkeypatch.setattr("console.follow.read_ahead.WORTH_TWO_BYTES", 2000)
    run = RunDirectory(tmp_path)
    array = make_history(run.loss, 500)
    follower, straight = Follower(run), Follower(run)
    follower.read_ahead = read_ahead(run.loss)
    assert follower.read_ahead is not None
    assert len(follower.read_ahead.pids) == 2
    while not follower.is_complete:
        follower.look()
    straight.look()
    array.append({"step": 501, "attempt": 2, "phase": 1, "loss": 0.5, "ema": 0.6})
    array.close()
    view, same = follower.look(), straight.look()
    assert (view.marks, view.n_records) == (same.marks, same.n_records)
    assert follower.series.view().loss.tolist() == straight.series.view().loss.tolist()


@pytest.mark.parametrize("victim", [0, 1])
def test_one_of_two_that_dies_leaves_its_part_to_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: int
) -> None:
    run = RunDirectory(tmp_path)
    make_history(run.loss, 50).close()
    cut = find_cut(run.loss, run.loss.stat().st_size)
    name = ("read_history", "read_behind")[victim]
    with monkeypatch.context() as patch:
        patch.setattr(f"console.follow.read_ahead.{name}", lambda *_: signal.pause())
        children = ReadAhead(run.loss, cut)
    os.kill(children.pids[victim], signal.SIGKILL)
    follower = Follower(run)
    follower.read_ahead = children
    view = follower.look()
    while not follower.is_complete:
        view = follower.look()
    assert view.n_records == 50
    assert not any(Path(f"/proc/{pid}").exists() for pid in children.pids)
