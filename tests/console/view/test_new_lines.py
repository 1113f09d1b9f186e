"""Appended lines are told once, whole, whatever happens to the file."""

from pathlib import Path

from console.view.new_lines import NewLines


def told(lines: NewLines) -> list[bytes]:
    return [line for some in lines.look() for line in some]


def test_each_whole_line_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = NewLines(path, last_bytes=1 << 20)
    assert told(lines) == []
    path.write_bytes(b"one\ntw")
    assert told(lines) == [b"one"]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert told(lines) == [b"two", b"three"]
    assert told(lines) == []


def test_of_a_long_file_the_end_is_read_and_of_a_replaced_one_all(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %04d\n" % number for number in range(1000)))
    lines = NewLines(path, last_bytes=25)
    assert told(lines)[1:] == [b"line 0998", b"line 0999"]
    path.unlink()
    path.write_bytes(b"new\n")
    assert told(lines) == [b"new"]


def test_a_file_longer_than_a_chunk_is_read_whole_and_an_endless_line_is_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    path.write_bytes((b"x" * 999 + b"\n") * 3000 + b"y" * (5 << 20) + b"\nlast\n")
    lines = NewLines(path, last_bytes=64 << 20)
    found = told(lines)
    assert found[:3000] == [b"x" * 999] * 3000
    assert found[-1] == b"last"
    assert all(len(line) < 2 << 20 for line in found)
