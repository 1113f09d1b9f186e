import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from trainer.rundir.reading import (
    NotRegularError,
    open_regular,
    read_file,
    reading,
    why_not_regular,
)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


STRANGERS: dict[str, Callable[[Path], None]] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a socket": _socket,
}


def _n_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f"


@pytest.mark.parametrize("kind", STRANGERS)
def test_what_is_no_file_is_named_at_once(path: Path, kind: str) -> None:
    STRANGERS[kind](path)
    with pytest.raises(NotRegularError, match=f"is {kind}, not a file") as raised:
        read_file(path)
    assert raised.value.filename == str(path)
    assert kind in why_not_regular(path)


@pytest.mark.parametrize("kind", STRANGERS)
def test_what_is_no_file_is_not_opened_for_writing_either(path: Path, kind: str) -> None:
    STRANGERS[kind](path)
    with pytest.raises(NotRegularError):
        open_regular(path, os.O_RDWR | os.O_CREAT)


def test_a_pipe_that_takes_the_place_after_the_look_is_neither_waited_for_nor_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(path)
    file = path.with_name("file")
    file.touch()
    found = file.stat()
    monkeypatch.setattr(Path, "stat", lambda _, **_named: found)
    n_open = _n_open()
    with pytest.raises(NotRegularError, match="named pipe"):
        open_regular(path)
    assert _n_open() == n_open


def test_a_link_to_a_file_is_read_but_where_the_run_writes_in_place(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_bytes(b"text")
    path.symlink_to(target)
    assert read_file(path) == b"text"
    assert why_not_regular(path) == ""
    with pytest.raises(NotRegularError, match="is a link"):
        read_file(path, follows_links=False)
    assert "is a link" in why_not_regular(path, follows_links=False)
    with pytest.raises(NotRegularError, match="is a link"):
        open_regular(path, os.O_RDWR | os.O_CREAT, follows_links=False)


def test_a_link_that_leads_in_circles_is_an_error_and_its_words(path: Path) -> None:
    path.symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        read_file(path)
    assert "symbolic links" in why_not_regular(path)


def test_absence_is_absence(path: Path) -> None:
    assert why_not_regular(path) == ""
    with pytest.raises(FileNotFoundError):
        read_file(path)


def test_a_file_of_more_bytes_than_its_kind_can_have_is_not_read(path: Path) -> None:
    path.write_bytes(b"12345")
    assert read_file(path, at_most=5) == b"12345"
    with pytest.raises(OSError, match="holds 5 bytes; more than 4"):
        read_file(path, at_most=4)


def test_the_descriptor_is_closed_and_no_child_inherits_it(path: Path) -> None:
    path.write_bytes(b"text")
    with reading(path) as file:
        fd = file.fileno()
        assert not os.get_inheritable(fd)
        assert file.read(2) == b"te"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
