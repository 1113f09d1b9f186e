"""The end of trainer.log."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console.view.log_tail import MAX_LINES, LogTail, last_lines


def test_lines_are_the_last_ones_and_a_progress_bar_shows_its_last_state() -> None:
    lines = last_lines(b"a\r\n 10%\r 20%\r\nlast", is_cut=False)
    assert lines == ("a", " 20%", "last")
    assert last_lines(b"half a line\nwhole\n", is_cut=True) == ("whole",)
    assert len(last_lines(b"x\n" * 1000, is_cut=False)) == MAX_LINES


@given(st.binary())
def test_any_bytes_are_lines_of_text(data: bytes) -> None:
    for line in last_lines(data, is_cut=False):
        assert "\n" not in line
        line.encode()


def looked(tail: LogTail) -> tuple[str, ...]:
    tail.look()
    return tail.lines


def test_an_unchanged_log_gives_the_same_lines_and_a_missing_one_none(tmp_path: Path) -> None:
    path = tmp_path / "trainer.log"
    tail = LogTail(path)
    assert looked(tail) == ()
    path.write_bytes(b"one\xff\n" + b"x" * 100_000 + b"\ntwo\n")
    lines = looked(tail)
    assert lines == ("two",)
    assert looked(tail) is lines
    with path.open("ab") as file:
        file.write(b"three\n")
    assert looked(tail) == ("two", "three")
