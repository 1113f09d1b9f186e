import os
import shutil
from pathlib import Path

import pytest

from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.directory import HeldDirectory, with_names
from trainer.rundir.names import told
from trainer.rundir.sources.documents import look_at_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    return path


def test_its_paths_reach_it_under_any_name_and_never_another(path: Path) -> None:
    held = HeldDirectory(path)
    moved = path.with_name("moved")
    path.rename(moved)
    path.mkdir()
    held.run.state.write_bytes(b"state")
    assert (moved / ".state.json").read_bytes() == b"state"
    assert list(path.iterdir()) == []
    assert (held.is_at(path), held.is_at(moved), held.where()) == (False, True, moved)
    assert (held.opened_as, held.is_deleted, held.run.name) == (path, False, "moved")


def test_it_is_deleted_when_it_is_and_not_when_it_is_called_so(path: Path) -> None:
    held = HeldDirectory(path)
    called = path.with_name("run (deleted)")
    path.rename(called)
    assert (held.where(), held.is_deleted) == (called, False)
    shutil.rmtree(called)
    assert (held.where(), held.is_deleted) == (None, True)


def test_messages_name_it_as_a_person_can_use_it(path: Path) -> None:
    held = HeldDirectory(path)
    named = f"{held.run.loss}: torn; see {held.run.path}"
    path.rename(path.with_name("a b"))
    assert with_names(named) == f"{path.parent}/a b/.loss.json: torn; see {path.parent}/a b"
    assert with_names("/proc/self/fd/999999/x") == "/proc/self/fd/999999/x"


def test_a_name_of_any_bytes_can_be_written_down(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xff"))
    path.mkdir()
    held = HeldDirectory(path)
    assert told(str(held.run.path)).encode() == bytes(tmp_path) + rb"/\xff"


def test_the_stamp_of_a_source_by_a_relative_path_is_the_same_however_the_run_is_reached(
    path: Path,
) -> None:
    (path / "a.txt").write_text("text")
    source = SourceSettings(path="*.txt")
    held = HeldDirectory(path)
    assert look_at_files(source, held.run.path).stamp == look_at_files(source, path).stamp


def test_it_is_closed_with_the_object(path: Path) -> None:
    held = HeldDirectory(path)
    anchored = held.run.path
    assert anchored.exists()
    held.close()
    assert not anchored.exists()
