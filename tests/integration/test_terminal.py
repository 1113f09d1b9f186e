"""The operator's journey in a real terminal: nothing that happens to it reaches the training."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.integration.terminal import Terminal, needs_tmux
from tests.tiny import make_tiny_run, strict_json
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import holder_of, process_start_time
from trainer.rundir.records.record_file import RecordTail
from trainer.rundir.state import read_state

pytestmark = needs_tmux


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run that nobody would see the end of; its trainer is killed when the test is over."""
    run = make_tiny_run(tmp_path / "v3", total_steps=1_000_000, every=500_000)
    yield run
    holder = holder_of(run.lock)
    if holder and holder.pid:
        os.kill(holder.pid, signal.SIGKILL)
        wait_until_gone(holder.pid)


def wait_until_gone(pid: int) -> None:
    wait_for(lambda: process_start_time(pid) is None, f"the end of process {pid}")


def trainer_pid(run: RunDirectory) -> int:
    holder = holder_of(run.lock)
    assert holder is not None, "nobody trains"
    return holder.pid


def n_records(run: RunDirectory) -> int:
    tail = RecordTail(run.loss)
    news = tail.look()
    n_seen = len(news.records)
    while news.has_more:
        news = tail.look()
        n_seen += len(news.records)
    return n_seen


def assert_goes_on(run: RunDirectory, pid: int) -> None:
    """The same trainer makes steps."""
    before = n_records(run)
    wait_for(lambda: n_records(run) >= before + 5, "five more steps")
    assert trainer_pid(run) == pid


def checkpoints(run: RunDirectory) -> list[str]:
    return sorted(path.name for path in run.path.glob("step_*.bin"))


def test_launch_checkpoint_paste_lost_terminal_reattach_and_stop(
    terminal: Terminal, run: RunDirectory
) -> None:
    terminal.console("first", run.path, "--launch")
    terminal.wait_for("first", "● training")
    pid = trainer_pid(run)
    terminal.press("first", "c")
    terminal.wait_for(
        "first", lambda screen: re.search(r"step [0-9,]+ written", screen) is not None
    )
    assert len(checkpoints(run)) == 1
    terminal.paste("first", "cpq", bracketed=True)
    terminal.paste("first", "cpqq\n", bracketed=False)
    assert_goes_on(run, pid)
    terminal.kill("first")
    assert_goes_on(run, pid)
    terminal.console("second", run.path)
    terminal.wait_for("second", "● training")
    assert trainer_pid(run) == pid, "the second console adopts the trainer"
    terminal.press("second", "q")
    terminal.wait_for("second", "Stop training gracefully")
    terminal.wait_for("second", "Enter choose")
    terminal.press("second", "Enter")
    terminal.wait_for("second", "ended 0")
    state = read_state(run.state)
    assert state is not None
    assert state.doing == "stopped"
    assert checkpoints(run)[-1] == f"step_{strict_json(run.loss)[-1]['step']:06d}.bin"
    actions = [orjson.loads(line)["action"] for line in run.actions.read_bytes().splitlines()]
    assert actions[0] == "launch"
    assert actions[-1] == "stop"
    assert actions.count("stop") == 1


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name
)
def test_training_survives_the_consoles_end(
    number: signal.Signals, terminal: Terminal, run: RunDirectory
) -> None:
    terminal.console("only", run.path, "--launch")
    terminal.wait_for("only", "● training")
    pid = trainer_pid(run)
    if number is signal.SIGINT:
        terminal.press("only", "C-c")
        console_ends = False
    else:
        (console,) = children(terminal.pane_pid("only"))
        os.kill(console, number)
        wait_until_gone(console)
        console_ends = True
    assert_goes_on(run, pid)
    if console_ends:
        terminal.wait_for("only", "ended")


def children(pid: int) -> list[int]:
    output = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True
    ).stdout
    return [int(line) for line in output.split()]


def test_detach_key_ends_the_console_only(terminal: Terminal, run: RunDirectory) -> None:
    terminal.console("only", run.path, "--launch")
    terminal.wait_for("only", "● training")
    pid = trainer_pid(run)
    terminal.press("only", "d")
    terminal.wait_for("only", "ended 0")
    assert_goes_on(run, pid)


def test_killed_trainer_is_shown_as_failed_and_what_it_left(
    terminal: Terminal, run: RunDirectory
) -> None:
    terminal.console("only", run.path, "--launch")
    terminal.wait_for("only", "● training")
    os.kill(trainer_pid(run), signal.SIGKILL)
    screen = terminal.wait_for("only", "✖ failed")
    assert "no checkpoint yet" in screen


@pytest.mark.parametrize("ahead", ["p", "?", "q"])
def test_a_key_typed_ahead_of_the_end_finds_nothing_to_open(
    terminal: Terminal, run: RunDirectory, ahead: str
) -> None:
    terminal.console("first", run.path, "--launch")
    terminal.wait_for("first", "● training")
    pid = trainer_pid(run)
    terminal.press("first", "d", ahead)
    terminal.wait_for("first", "ended 0")
    assert "Traceback" not in terminal.screen("first")
    assert_goes_on(run, pid)
