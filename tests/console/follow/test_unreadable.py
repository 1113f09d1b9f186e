"""A run whose directory may not be looked into, as for anybody but root."""

from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli import main
from console.follow.follower import Follower
from console.operations.operations import Operations
from console.ui import farewell
from console.verbs.status import exit_code_of
from tests.crash.fuzz.child import Ended, run_limited
from trainer.rundir.layout import RunDirectory

_WHY = "there is no right to look into its directory, and a trainer may live there: chmod u+rx "


def without_rights(action: Callable[[], int], tmp_path: Path) -> Ended:
    """What `action` came to where permissions are heeded."""
    output = tmp_path / "output"
    output.mkdir(exist_ok=True)
    return run_limited(action, output, limit_seconds=30, heeds_permissions=True)


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400])
def test_the_view_says_so_and_no_key_acts(run: RunDirectory, tmp_path: Path, mode: int) -> None:
    def look() -> int:
        operations = Operations(run)
        follower = Follower(run, operations)
        assert follower.look().status.word == "not running"
        run.path.chmod(mode)
        view = follower.look()
        assert (view.status.word, view.status.detail) == (
            "unreadable",
            f"{_WHY}{run.path} as its owner",
        )
        assert (exit_code_of(view), view.can_go_on, view.is_running) == (1, False, False)
        assert farewell.detached(view) == f"r1: {view.status.detail}"
        for outcome in (operations.stop(), operations.launch(), operations.restart()):
            assert (outcome.ok, _WHY in outcome.message) == (False, True)
        assert operations.look_for_crash() == (False, -1)
        assert Follower(run).look().status == view.status
        run.path.chmod(0o755)
        assert follower.look().status.word == "not running"
        assert not run.actions.exists()
        return 0

    ended = without_rights(look, tmp_path)
    run.path.chmod(0o755)
    assert ended.code == 0, ended.stderr.decode()


def test_an_archive_that_may_not_be_looked_into_is_told_alike(
    run: RunDirectory, tmp_path: Path
) -> None:
    run.archive.mkdir(mode=0o200)
    ended = without_rights(lambda: main(["status", str(run.path)]), tmp_path)
    assert ended.code == 1
    assert "unreadable: there is no right to look into its archive" in ended.stdout.decode()


@pytest.mark.parametrize("verb", ["status", "stop", "checkpoint"])
def test_a_verb_says_so_and_never_that_no_trainer_runs(
    run: RunDirectory, tmp_path: Path, verb: str
) -> None:
    run.path.chmod(0o400)
    ended = without_rights(lambda: main([verb, str(run.path)]), tmp_path)
    run.path.chmod(0o755)
    assert ended.code == 1
    said = (ended.stdout + ended.stderr).decode()
    assert _WHY in said
    assert "no trainer is running" not in said
