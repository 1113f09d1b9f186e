"""Reading a log from any place of it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.view import log_file
from console.view.log_file import Level, LogFile, search_for


def written(path: Path, data: bytes) -> LogFile:
    (path / "trainer.log").write_bytes(data)
    return LogFile(path / "trainer.log")


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=30))
def test_both_directions_give_the_same_lines_whatever_bytes_they_hold(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    log = written(tmp_path_factory.mktemp("log"), b"".join(line + b"\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_file, "_SMALL_BYTES", 7)
        patch.setattr(log_file, "_BLOCK_BYTES", 11)
        forwards = log.after(0, 100)
        assert log.before(log.size(), 100) == forwards
    assert len(forwards) == len(lines)
    assert [line.end for line in forwards[:-1]] == [line.start for line in forwards[1:]]


def test_a_far_line_is_found_backwards_and_forwards_and_capitals_count_where_asked(
    tmp_path: Path,
) -> None:
    log = written(tmp_path, b"Needle one\n" + b"hay\n" * 600_000 + b"needle two\nhay\n")
    any_case, exact = (search_for("needle"),), (search_for("Needle"),)
    assert [line.text for line in log.before(log.size(), 1, any_case)] == ["needle two"]
    assert [line.text for line in log.before(log.size(), 1, exact)] == ["Needle one"]
    assert [line.text for line in log.after(11, 1, any_case)] == ["needle two"]
    assert log.after(11, 1, exact) == []


def test_a_search_ends_at_the_block_at_which_it_is_told_to(tmp_path: Path) -> None:
    log = written(tmp_path, b"needle\n" + b"hay\n" * 1_000_000)
    reached: list[int] = []

    def progress(at: int) -> bool:
        reached.append(at)
        return len(reached) < 2

    assert log.before(log.size(), 1, (search_for("needle"),), progress) == []
    assert len(reached) == 2


def test_levels_show_what_is_as_bad_or_worse_and_a_line_without_level_is_info(
    tmp_path: Path,
) -> None:
    log = written(
        tmp_path,
        b"step 1 loss 3.2\nwarning: slow disk\nerror: no space\nValueError: x\nterror in a book\n",
    )

    def shown(level: Level) -> list[str]:
        return [line.text for line in log.after(0, 9, level.wanted)]

    assert len(shown(Level.ALL)) == 5
    assert shown(Level.WARNINGS) == ["warning: slow disk", "error: no space", "ValueError: x"]
    assert shown(Level.ERRORS) == ["error: no space", "ValueError: x"]


def test_a_log_that_was_emptied_replaced_or_removed_is_read_as_it_is_now(tmp_path: Path) -> None:
    log = written(tmp_path, b"old\n" * 100)
    end = log.size()
    written(tmp_path, b"new\n")
    assert [line.text for line in log.before(end, 9)] == ["new"]
    assert log.after(end, 9) == []
    log.path.unlink()
    assert log.before(end, 9) == []
    assert log.size() == 0


def test_a_log_of_one_endless_line_is_cut_and_never_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    lines = LogFile(path).before(64 << 20, 3)
    assert len(lines) == 3
    assert all(len(line.text) <= log_file.LONGEST_SHOWN for line in lines)
    assert all(line.end - line.start <= 6 << 20 for line in lines)


def test_a_steps_place_is_the_last_line_that_names_it_or_one_before_it(tmp_path: Path) -> None:
    lines = [f"step {step:,}: loss 2.9\n  some other words\n" for step in range(0, 400_000, 100)]
    log = written(tmp_path, "".join(lines).encode())
    for step, text in ((61_342, "step 61,300: loss 2.9"), (399_999, "step 399,900: loss 2.9")):
        assert [line.text for line in log.place_of(step)] == [text]
    assert log.place_of(0)
    assert written(tmp_path, b"no numbers here\n").place_of(5) == []


def test_a_times_place_is_the_last_line_of_it_or_before(tmp_path: Path) -> None:
    began = 1_780_000_000.0
    stamps = [
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began + 10 * n)) for n in range(60_000)
    ]
    lines = [f"{stamp} step written\n  and 2026 words-and-numbers\n" for stamp in stamps]
    log = written(tmp_path, "".join(lines).encode())
    for seconds, n in ((0, 0), (9, 0), (410_004, 41_000), (10**9, 59_999)):
        (found,) = log.place_at(began + seconds)
        assert found.text == f"{stamps[n]} step written"
    assert log.place_at(began - 1) == []
    assert log.place_at(1e30) == []
    assert written(tmp_path, b"no times here\n").place_at(began) == []
