import os
from pathlib import Path

import pytest

from tests.rundir.faulty_os import FOLDER, each_fault, files_in, recorded_os
from trainer.rundir.atomic import create_exclusively, write_atomic, write_fully


def test_replacing_syncs_the_data_before_the_rename_and_the_directory_after(tmp_path: Path) -> None:
    with recorded_os() as calls:
        write_atomic(tmp_path / "file", b"new")
    beside = f".file.{os.getpid()}.partial"
    folder = tmp_path.name
    assert calls == [
        f"open {beside}",
        f"write {beside}",
        f"fsync {beside}",
        f"close {beside}",
        f"replace {beside}",
        f"open {folder}",
        f"fsync {folder}",
        f"close {folder}",
    ]
    assert files_in(tmp_path) == {"file": b"new"}


def test_an_undurable_replace_syncs_nothing(tmp_path: Path) -> None:
    with recorded_os() as calls:
        write_atomic(tmp_path / "file", b"new", durable=False)
    assert [call for call in calls if call.startswith("fsync")] == []


def test_a_fault_at_any_call_leaves_the_old_bytes_or_the_new_and_no_partial(tmp_path: Path) -> None:
    def replace(folder: Path) -> None:
        (folder / "file").write_bytes(b"old")
        write_atomic(folder / "file", b"new")

    for call, folder in each_fault(replace, tmp_path):
        is_after_rename = call.endswith(FOLDER)
        assert files_in(folder) == {"file": b"new" if is_after_rename else b"old"}, call


def test_creating_leaves_what_somebody_made_first(tmp_path: Path) -> None:
    create_exclusively(tmp_path / "file", b"first")
    with pytest.raises(FileExistsError):
        create_exclusively(tmp_path / "file", b"second")
    assert files_in(tmp_path) == {"file": b"first"}


def test_a_fault_while_creating_leaves_the_whole_file_or_nothing(tmp_path: Path) -> None:
    for call, folder in each_fault(lambda f: create_exclusively(f / "file", b"new"), tmp_path):
        is_after_link = call.endswith(FOLDER)
        assert files_in(folder) == ({"file": b"new"} if is_after_link else {}), call


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    write_fully(fd, b"0123456789")
    os.close(fd)
    assert files_in(tmp_path) == {"file": b"0123456789"}
