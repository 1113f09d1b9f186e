"""A history that was kept is taken for the file that it was read from, and for no other."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.follow import history_cache
from console.follow.history_cache import HistoryCache, cache_of
from console.follow.history_parts import read_behind, read_history, read_on
from console.follow.read_ahead import read_ahead
from tests.console.follow.test_history_parts import assert_read_on_as_in_a_row, record, write
from tests.console.view.test_loss_history import assert_same
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HistoryCache:
    monkeypatch.setattr(history_cache, "WORTH_KEEPING_BYTES", 1)
    return HistoryCache(tmp_path / "cache" / "a.history")


def written() -> None:
    """Wait for what is being written down."""
    for thread in threading.enumerate():
        if thread.name == "history-cache":
            thread.join()


def kept(cache: HistoryCache, folder: Path, **fields: Any) -> Path:
    """The history of a run with restarts and a stall, read once and kept."""
    lines = [record(step, arm="abc"[step % 3], **fields) for step in range(1, 300)]
    lines += [record(step, attempt=2, phase=2, t=9000.0 + step) for step in range(290, 400)]
    path = write(folder, lines)
    cache.keep(read_history(path))
    written()
    return path


def test_what_was_kept_is_what_is_read_from_the_beginning(
    cache: HistoryCache, tmp_path: Path
) -> None:
    path = kept(cache, tmp_path)
    known = cache.read(path)
    assert known is not None
    straight = read_history(path)
    assert_same(known.history, straight.history)
    assert (known.tail.offset, known.damaged_lines) == (straight.tail.offset, 0)
    assert known.n_new_bytes == 0


def test_what_was_added_meanwhile_is_read_on_and_kept_with_it(
    cache: HistoryCache, tmp_path: Path
) -> None:
    path = kept(cache, tmp_path)
    array = RecordArray(path)
    for step in range(395, 450):
        array.append({"step": step, "attempt": 3, "loss": 4.0})
    array.close()
    for _ in range(2):
        known = cache.read(path)
        assert known is not None
        read = read_on(known)
        cache.keep(read)
        written()
    assert read.n_new_bytes == 0
    assert_read_on_as_in_a_row(read, path)


def test_a_history_read_in_two_parts_is_kept_too(cache: HistoryCache, tmp_path: Path) -> None:
    path = write(tmp_path, [record(step) for step in range(1, 3000)])
    cut = path.read_bytes().find(b"},\n", 200_000) + 1
    cache.keep(read_history(path, cut).joined(read_behind(path, cut)))
    written()
    known = cache.read(path)
    assert known is not None
    assert len(known.parts) == 2
    assert_read_on_as_in_a_row(known, path)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b'"loss":5.0') + len(b'"loss":')
    data[at] ^= 1
    before = path.stat()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 300)


@pytest.mark.parametrize("change", [flip, shorten, Path.unlink])
def test_another_history_under_the_name_is_read_anew(
    cache: HistoryCache, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = kept(cache, tmp_path)
    change(path)
    assert cache.read(path) is None


def test_a_copy_with_the_same_bytes_is_the_same_history(
    cache: HistoryCache, tmp_path: Path
) -> None:
    path = kept(cache, tmp_path)
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    known = cache.read(path)
    assert known is not None
    assert_read_on_as_in_a_row(known, path)


def test_what_other_code_or_another_time_zone_made_is_not_taken(
    cache: HistoryCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept(cache, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(time, "tzname", ("XYZ", "XYZ"))
        assert cache.read(path) is None
    with monkeypatch.context() as patch:
        patch.setattr(history_cache, "_modules", lambda: iter([("series.py", 1, 1)]))
        assert cache.read(path) is None
    assert cache.read(path) is not None


@pytest.mark.parametrize("content", [b"", b"short", b"\0" * 4096])
def test_a_file_that_is_no_cache_is_as_good_as_none(
    cache: HistoryCache, tmp_path: Path, content: bytes
) -> None:
    path = kept(cache, tmp_path)
    cache.path.write_bytes(content)
    assert cache.read(path) is None


def test_nothing_is_written_for_a_few_records_more_and_nothing_into_the_run(
    cache: HistoryCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setattr(history_cache, "WORTH_KEEPING_BYTES", 1 << 20)
    kept(cache, run)
    assert not cache.path.parent.exists()
    monkeypatch.setattr(history_cache, "WORTH_KEEPING_BYTES", 1)
    kept(cache, run)
    assert [path.name for path in run.iterdir()] == [".loss.json"]
    assert [path.name for path in cache.path.parent.iterdir()] == ["a.history"]
    assert cache.path.stat().st_mode & 0o777 == 0o600


def test_one_that_nobody_opened_for_a_month_is_removed(cache: HistoryCache, tmp_path: Path) -> None:
    cache.path.parent.mkdir()
    old, used = (cache.path.with_name(name) for name in ("old.history", "used.history"))
    for path in (old, used):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    kept(cache, tmp_path)
    assert not old.exists()
    assert used.exists()


def test_a_folder_that_cannot_be_written_changes_nothing(
    cache: HistoryCache, tmp_path: Path
) -> None:
    cache.path.parent.write_text("a file")
    path = kept(cache, tmp_path)
    assert cache.read(path) is None


def test_the_children_of_a_second_opening_read_only_what_is_new(
    tmp_path: Path, cache: HistoryCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.follow.read_ahead.WORTH_A_CHILD_BYTES", 1000)
    monkeypatch.setattr("console.follow.read_ahead.WORTH_TWO_BYTES", 2000)
    path = write(tmp_path, [record(step) for step in range(1, 3000)])
    n_children, n_new = [], []
    for _ in range(2):
        children = read_ahead(path, cache)
        assert children is not None
        n_children.append(len(children.pids))
        read = children.take(60.0)
        while read is None:
            read = children.take(60.0)
        n_new.append(read.n_new_bytes)
        written()
    assert n_children == [2, 1]
    assert n_new[0] > 100_000
    assert n_new[1] == 0
    assert read is not None
    assert_read_on_as_in_a_row(read, path)


def test_a_run_has_its_cache_by_its_path_below_home(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    one, other = (cache_of(RunDirectory(tmp_path / name), home) for name in ("r1", "r2"))
    assert one is not None
    assert other is not None
    assert one.path.parent == tmp_path / ".cache" / "andrea"
    assert one.path != other.path
    assert cache_of(RunDirectory(tmp_path / "r1"), {}) is None
