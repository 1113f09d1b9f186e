"""The command line: verbs, the console's start, mistakes."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from console.cli import main
from console.follow.follower import Follower
from console.operations.checkpoint_requests import REQUESTED
from console.operations.operations import Operations, Outcome
from tests.console.conftest import SCRIPTED_TRAINER, Start
from tests.tiny import ROOT
from tests.waiting import wait_for
from trainer import __version__
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import ENDED, State, write_state


def test_status_of_a_healthy_run(
    run: RunDirectory, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    launched = start()
    wait_for(lambda: Follower(run).look().n_records, "a record")
    assert main(["status", str(run.path), "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    assert (told["run"], told["state"], told["pid"]) == ("r1", "training", launched.pid)
    assert main(["status", str(run.path)]) == 0
    assert capsys.readouterr().out.startswith("r1: training")


@pytest.mark.parametrize("host", ["another-host", None], ids=["foreign clock", "clock was set"])
@pytest.mark.parametrize("ahead", [-86_400, 86_400], ids=["behind", "ahead"])
def test_status_of_a_run_that_steps_under_another_clock_is_no_stall(
    run: RunDirectory,
    start: Start,
    capsys: pytest.CaptureFixture[str],
    host: str | None,
    ahead: int,
) -> None:
    start("--clock-ahead-seconds", str(ahead), "--every", "100000")
    day_before = time.time() - 86_400
    if host is not None:
        written = orjson.loads(run.lock.read_bytes()) | {"host": host}
        run.lock.write_bytes(orjson.dumps(written))
    os.utime(run.lock, (day_before, day_before))
    wait_for(lambda: Follower(run).look().n_records > 3, "records")
    main(["status", str(run.path), "--json"])
    assert orjson.loads(capsys.readouterr().out)["state"] == "training"


def test_status_of_a_run_that_nobody_trains(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(run.path)]) == 3
    assert "not running: not started yet" in capsys.readouterr().out


def test_checkpoint_waits_and_prints_the_file(
    run: RunDirectory, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start("--every", "1000000")
    assert main(["checkpoint", str(run.path)]) == 0
    printed = capsys.readouterr()
    path = Path(printed.out.strip())
    assert path.parent == run.path
    assert path.exists()
    assert "written" in printed.err


def test_checkpoint_that_fails_says_why(
    run: RunDirectory, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    (run.path / "fail-saves").touch()
    start("--every", "1000000")
    assert main(["checkpoint", str(run.path)]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert "No space left on device" in printed.err


def test_checkpoint_gives_up_waiting_at_its_timeout(
    run: RunDirectory,
    start: Start,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start("--every", "1000000")
    monkeypatch.setattr(
        "console.operations.checkpoint_requests.answer", lambda asked, seen: REQUESTED
    )
    assert main(["checkpoint", str(run.path), "--timeout", "0"]) == 1
    assert "the request stands" in capsys.readouterr().err


def test_stop_waits_until_the_trainer_is_gone(
    run: RunDirectory, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    launched = start("--every", "1000000")
    assert main(["stop", str(run.path)]) == 0
    printed = capsys.readouterr()
    assert launched.wait(20) == 143
    assert Path(printed.out.strip()).exists()
    assert "stopped: by SIGTERM; checkpoint written" in printed.err


@pytest.mark.parametrize("verb", ["checkpoint", "stop"])
def test_verbs_without_a_trainer_exit_3(
    verb: str, run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, str(run.path)]) == 3
    assert "no trainer is running" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "nowhere"], "nowhere: there is no run"),
        (["status"], "required: RUN"),
        ([], "required: RUN"),
        (["stauts"], "stauts is no verb and no run; did you mean status?"),
        (["stauts", "nowhere"], "stauts is no verb; did you mean status?"),
        (["pivto", "nowhere", "--policy", "x.toml"], "did you mean pivot?"),
        (["thni", "--yes", "nowhere"], "did you mean thin?"),
        (["nowhere", "stop"], "stop is a verb and comes first"),
        (["nowhere", "elsewhere"], "unrecognized arguments: elsewhere"),
        (["stauts", "--jsno"], "unrecognized arguments: --jsno"),
        (["--verison"], "--verison is no option; did you mean --version?"),
        (["nowhere", "--presett=demo"], "--presett is no option; did you mean --preset?"),
        (["nowhere", "-x"], "unrecognized arguments: -x"),
        (["status", ".", "--jsno"], "--jsno is no option; did you mean --json?"),
        (["--read-only", "status"], "the directory is ./status"),
        (["r", "--"], "no command after --"),
        (["r", "--source", "books"], "'books' is not NAME=GLOB"),
    ],
)
def test_mistakes_exit_2_and_make_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_a_terminal_the_console_points_to_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "r")]) == 2
    assert "needs a terminal" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    for word in ("status", "checkpoint", "stop", "--read-only", "--no-launch", "ANDREA_RUN"):
        assert word in told
    assert main(["stop", "--help"]) == 0


def test_help_of_status_names_the_words_that_tell_exit_3_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status", "--help"]) == 0
    told = capsys.readouterr().out
    for word in (*ENDED, "not running"):
        assert word in " ".join(told.split())


def test_version_is_told_with_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"andrea-console {__version__}\n"


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"], ["verify"]])
def test_a_reader_that_is_gone_ends_the_command_without_a_word(
    arguments: list[str], run: RunDirectory
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "console", arguments[0], str(run.path), *arguments[1:]]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, check=False, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stands in for terminal and screen; what the console was started with."""
    started: list[dict[str, Any]] = []

    def run_console(
        follower: Follower, operations: Operations, *rest: object, **options: object
    ) -> int:
        started.append({"follower": follower, "operations": operations, **options})
        return 0

    session = ModuleType("console.ui.session")
    session.run_console = run_console  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "console.ui.session", session)
    monkeypatch.setattr("console.cli.has_terminal", lambda: True)
    return started


def test_console_makes_the_run_and_launches_its_command(
    tmp_path: Path, screen: list[dict[str, Any]]
) -> None:
    run = RunDirectory(tmp_path / "runs" / "v3")
    command = [sys.executable, str(SCRIPTED_TRAINER), "--total-steps", "2", str(run.path)]
    assert main([str(run.path), "--preset", "demo", "--", *command]) == 0
    (started,) = screen
    launched = started["operations"].launched
    assert launched.wait(20) == 0
    assert started["follower"].look().status.word == "finished"
    assert "command" in run.settings.read_text()


def test_console_adopts_the_live_trainer(
    run: RunDirectory, start: Start, screen: list[dict[str, Any]]
) -> None:
    launched = start()
    assert main([str(run.path)]) == 0
    assert screen[0]["operations"].launched is None
    assert screen[0]["follower"].look().pid == launched.pid


def test_read_only_makes_and_starts_nothing(
    run: RunDirectory, tmp_path: Path, screen: list[dict[str, Any]]
) -> None:
    before = sorted(run.path.iterdir())
    assert main([str(run.path), "--read-only"]) == 0
    assert screen[0]["is_read_only"]
    assert sorted(run.path.iterdir()) == before
    assert main([str(tmp_path / "other"), "--read-only"]) == 2
    assert not (tmp_path / "other").exists()


def test_no_launch_makes_the_run_and_starts_nothing(
    tmp_path: Path, screen: list[dict[str, Any]]
) -> None:
    assert main([str(tmp_path / "r"), "--no-launch"]) == 0
    assert (tmp_path / "r" / "run.toml").exists()
    assert screen[0]["operations"].launched is None


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Operations]:
    """Operations that were asked to start a trainer; none is."""
    asked: list[Operations] = []

    def launch(operations: Operations) -> Outcome:
        asked.append(operations)
        return Outcome(ok=True, message="")

    monkeypatch.setattr(Operations, "launch", launch)
    return asked


@pytest.mark.parametrize(
    "left",
    [
        None,
        State(doing="stopped", exit_code=143, pid=1, step=5),
        State(doing="held", exit_code=10, pid=1, step=5),
        State(doing="failed", exit_code=3, pid=1, step=5),
        State(doing="finished", exit_code=0, pid=1, step=5),
        State(doing="training", pid=1, step=5),
    ],
    ids=lambda state: state.doing if state else "made before",
)
@pytest.mark.parametrize(("options", "n_started"), [((), 0), (("--launch",), 1)])
def test_a_run_that_is_there_is_looked_at_and_started_only_where_that_is_asked_for(
    run: RunDirectory,
    screen: list[dict[str, Any]],
    launches: list[Operations],
    left: State | None,
    options: tuple[str, ...],
    n_started: int,
) -> None:
    if left is not None:
        write_state(run.state, left)
    before = sorted(run.path.iterdir())
    assert main([str(run.path), *options]) == 0
    assert len(launches) == n_started
    assert sorted(run.path.iterdir()) == before
    assert len(screen) == 1


def test_a_new_run_is_started_by_itself(
    tmp_path: Path, screen: list[dict[str, Any]], launches: list[Operations]
) -> None:
    assert main([str(tmp_path / "r")]) == 0
    assert len(launches) == 1
    assert main([str(tmp_path / "r")]) == 0
    assert len(launches) == 1, "it is there now"


@pytest.mark.parametrize("other", ["--no-launch", "--read-only"])
def test_a_start_that_is_asked_for_and_forbidden_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    assert main([str(tmp_path / "r"), "--launch", other]) == 2
    assert "--launch" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_wrong_settings_are_told_before_the_screen(
    run: RunDirectory, screen: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    run.settings.write_text("[train]\ntotal_stesp = 5\n")
    assert main([str(run.path)]) == 2
    assert "did you mean train.total_steps?" in capsys.readouterr().err
    assert not screen


def test_a_launch_that_is_refused_is_noted_on_the_screen(
    run: RunDirectory, screen: list[dict[str, Any]]
) -> None:
    run.pivot.write_text("{}")
    assert main([str(run.path), "--launch"]) == 0
    assert "pivot" in screen[0]["follower"].look().notes[0]


def test_a_run_may_be_named_almost_like_a_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["./statsu", "--no-launch"]) == 0
    assert main(["statsu", "--no-launch"]) == 0, "it is there now"
    assert (tmp_path / "statsu" / "run.toml").exists()


def test_a_run_named_like_a_verb_is_reached_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["./status", "--no-launch"]) == 0
    assert (tmp_path / "status" / "run.toml").exists()


@pytest.mark.parametrize(
    ("is_set", "options", "outlook"),
    [
        (True, (), "this console starts it again within 10 s (crash 1 of 3)"),
        (False, (), ""),
        (False, ("--restart",), "this console starts it again within 10 s (crash 1 of 3)"),
        (True, ("--no-launch",), ""),
    ],
)
def test_crash_is_answered_as_the_run_or_the_command_line_asks(
    run: RunDirectory,
    screen: list[dict[str, Any]],
    is_set: bool,
    options: tuple[str, ...],
    outlook: str,
) -> None:
    assert main([str(run.path), *options]) == 0
    follower = screen[0]["follower"]
    write_state(run.state, State(doing="training", pid=1))
    text = run.settings.read_text()
    # changed under an open console: the next look goes by it
    run.settings.write_text(text.replace("restart = false", f"restart = {str(is_set).lower()}"))
    follower.restarter.consider()
    view = follower.look()
    assert (view.status.word, view.status.outlook) == ("failed", outlook)
    second = follower.look()  # which knows the events, too
    assert second == replace(view, events=second.events)
    follower.restarter.consider()
    assert follower.look() == second


@pytest.mark.parametrize(
    ("state", "options", "is_counted_down"),
    [
        (State(doing="training", pid=1), (), False),
        (State(doing="training", pid=1), ("--restart",), True),
        (State(doing="stopped", exit_code=143, pid=1), ("--restart",), False),
    ],
)
def test_a_console_opened_on_a_crash_counts_down_where_restarts_are_wanted(
    run: RunDirectory,
    screen: list[dict[str, Any]],
    launches: list[Operations],
    state: State,
    options: tuple[str, ...],
    is_counted_down: bool,
) -> None:
    write_state(run.state, state)
    assert main([str(run.path), *options]) == 0
    assert not launches
    outlook = screen[0]["follower"].look().status.outlook
    assert ("starts it again within 10 s" in outlook) is is_counted_down


def test_read_only_console_starts_nothing_again(
    run: RunDirectory, screen: list[dict[str, Any]]
) -> None:
    assert main([str(run.path), "--read-only", "--restart"]) == 0
    assert screen[0]["follower"].restarter is None


@pytest.mark.parametrize("taken_up", ["--continue", "--roll-back"])
def test_a_pivot_under_way_is_not_moved_to_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], taken_up: str
) -> None:
    (tmp_path / "run.toml").touch()
    assert main(["pivot", str(tmp_path), taken_up, "--now"]) == 2
    assert "--now is for a new pivot" in capsys.readouterr().err
