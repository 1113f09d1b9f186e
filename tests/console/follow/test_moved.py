"""A console and the directory that it watches, when that is no longer under its name."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from console.follow.follower import Follower
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver, PivotHaltedError
from console.ui import farewell
from console.verbs.status import exit_code_of
from tests.console.conftest import Start
from tests.tiny import ROOT
from tests.waiting import wait_for
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.layout import RunDirectory


def n_checkpoints(run: RunDirectory) -> int:
    return len(list(run.path.glob("step_*.bin")))


@pytest.fixture
def moved(run: RunDirectory) -> RunDirectory:
    """Where the run is after its move."""
    return RunDirectory(run.path.with_name("moved and gone"))


def test_the_view_says_that_the_directory_is_gone_where_it_is_and_that_a_trainer_may_live(
    run: RunDirectory, moved: RunDirectory, start: Start
) -> None:
    start()
    operations = Operations(run)
    follower = Follower(run, operations)
    wait_for(lambda: follower.look().step > 3, "steps")
    before = follower.look()
    run.path.rename(moved.path)
    view = follower.look()
    assert (view.status.word, view.is_running, view.can_go_on) == ("moved", False, False)
    assert view.status.detail == (
        f"its directory is gone: it is {moved.path} now, and a trainer may live there:"
        f" andrea-console '{moved.path}' shows it"
    )
    assert exit_code_of(view) == 1
    assert view.step >= before.step
    assert view.notes == ()
    for words in (farewell.stopped(view), farewell.detached(view)):
        assert words == f"r1: {view.status.detail}"


def test_back_under_its_name_it_is_watched_on(run: RunDirectory, moved: RunDirectory) -> None:
    follower = Follower(run)
    before = follower.look()
    run.path.rename(moved.path)
    assert follower.look().is_lost
    moved.path.rename(run.path)
    assert follower.look() == before


def test_a_deleted_directory_is_said_to_be_deleted(run: RunDirectory) -> None:
    follower = Follower(run)
    shutil.rmtree(run.path)
    view = follower.look()
    assert view.status.detail.startswith(
        "its directory is gone: the one that was watched is deleted"
    )
    assert follower.is_complete


def test_nothing_is_done_to_another_run_under_the_name(
    run: RunDirectory, moved: RunDirectory, start: Start
) -> None:
    operations = Operations(run)
    follower = Follower(run, operations)
    follower.look()
    run.path.rename(moved.path)
    ensure_run(run.path)
    launched = start("--every", "1000000")
    assert "another directory is under its name" in follower.look().status.detail
    for outcome in (
        operations.checkpoint(),
        operations.stop(),
        operations.launch(),
        operations.restart(),
        operations.preview_thinning(),
    ):
        assert not getattr(outcome, "ok", True)
        assert "another directory is under its name" in getattr(outcome, "message", "")
    assert operations.look_for_crash() == (False, -1)
    with pytest.raises(PivotHaltedError, match="another directory is under its name"):
        next(PivotDriver(operations).walk())
    assert launched.exit_code() is None
    assert not run.actions.exists()
    assert n_checkpoints(run) == 0


def test_stop_does_not_wait_for_ever_for_a_run_that_was_moved(
    run: RunDirectory, moved: RunDirectory, start: Start
) -> None:
    launched = start("--every", "1000000")
    os.kill(launched.pid, signal.SIGSTOP)  # it takes its time
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "stop", str(run.path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "stop requested" in process.stderr.readline()
    run.path.rename(moved.path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"moved: its directory is gone: it is {moved.path} now" in err
    assert out == ""


def test_a_status_of_no_directory_makes_no_suggestion_to_make_a_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "console", "status", str(tmp_path / "gone")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr.strip() == f"andrea-console: {tmp_path / 'gone'}: there is no run of that name"
    )


def test_nobody_is_told_to_resume_what_is_not_there(run: RunDirectory) -> None:
    view = Follower(run).look()
    assert view.can_go_on
    assert not replace(view, status=replace(view.status, word="moved")).can_go_on
