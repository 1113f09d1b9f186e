"""Killed writers' files are cleared by the next holder of the lock, live writers' are not."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.operations.operations import Operations
from console.pivot.driver import PivotDriver
from tests.rundir.pivot.test_journal import OLD, go_on, make_run, request
from tests.tiny import ROOT
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.pivot.journal import Stage, read_pivot

_WRITER = """
import os, signal, sys
from pathlib import Path
from trainer.rundir.atomic import write_atomic

replace = Path.replace

def wait_and_replace(beside, path):
    print(beside.name, flush=True)
    if not sys.stdin.readline():
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(beside, path)

Path.replace = wait_and_replace
write_atomic(Path(sys.argv[1]), b"new")
"""


class Writer:
    """A process that stands between the writing and the renaming of a small file."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.beside = path.with_name(self._process.stdout.readline().strip())

    def go_on(self) -> None:
        """Let it rename the file and end."""
        self._process.communicate("\n")
        assert self._process.returncode == 0

    def is_killed(self) -> None:
        """SIGKILL where it stands."""
        self._process.communicate("")
        assert self._process.returncode == -signal.SIGKILL


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "run")


def partials(run: RunDirectory) -> list[str]:
    return sorted(path.name for path in run.path.glob(".*.partial"))


@pytest.mark.parametrize("name", ["run.toml", "pivot.json"])
def test_file_of_a_live_writer_stays_and_that_of_a_killed_one_goes(
    name: str, run: RunDirectory
) -> None:
    live, dead = Writer(run.path / name), Writer(run.path / name)
    dead.is_killed()
    assert remove_leftovers(run) == [dead.beside.name]
    assert partials(run) == [live.beside.name]
    live.go_on()
    assert (run.path / name).read_bytes() == b"new"
    assert partials(run) == []


def test_trainers_own_files_go_and_those_that_are_nobodys_stay(run: RunDirectory) -> None:
    gone = [
        ".checkpoint.partial",
        ".loss.json.torn-1.77.partial",
        ".state.json.77.partial",
        ".trainer.lock.77.partial",
    ]
    kept = ["notes.partial", ".run.toml.mine.partial", ".pivot.json.partial"]
    for name in [*gone, *kept]:
        (run.path / name).write_bytes(b"half")
    assert remove_leftovers(run) == gone
    assert all((run.path / name).exists() for name in kept)


def _goes_on_from_held(run: RunDirectory) -> None:
    go_on(run, Stage.HELD)
    walk = PivotDriver(Operations(run)).walk()
    next(walk)
    walk.close()
    pivot = read_pivot(run.pivot)
    assert pivot is not None
    assert pivot.stage is Stage.ARCHIVED


def _is_rolled_back(run: RunDirectory) -> None:
    go_on(run, Stage.ARCHIVED)
    assert PivotDriver(Operations(run)).roll_back().ok
    assert run.settings.read_text() == OLD


@pytest.mark.parametrize("take_up", [_goes_on_from_held, _is_rolled_back])
def test_pivot_that_is_taken_up_clears_what_the_killed_one_left(
    run: RunDirectory, take_up: Callable[[RunDirectory], None]
) -> None:
    request(run)
    for path in (run.settings, run.pivot):
        Writer(path).is_killed()
    assert len(partials(run)) == 2
    take_up(run)
    assert partials(run) == []
