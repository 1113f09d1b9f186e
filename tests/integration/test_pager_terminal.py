"""The log in a pager in a real terminal: the console goes on meanwhile, and ends the pager."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.terminal import Terminal, needs_tmux
from tests.tiny import ask_stop, make_tiny_run, train_here
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import holder_of, process_start_time

pytestmark = [needs_tmux, pytest.mark.timeout(200)]
_END = "the last line"


def console_in(terminal: Terminal, run: RunDirectory, pager: str, *arguments: str) -> None:
    """A console with this pager, and the log pane in front."""
    command = [sys.executable, "-m", "console", str(run.path), *arguments]
    terminal.start("s", "env", f"PAGER={shlex.quote(pager)}", *command, width=80, height=24)
    terminal.wait_for("s", "d detach")
    terminal.press("s", "5")
    terminal.wait_for("s", "5 log")


def descendants(pid: int) -> dict[int, str]:
    """Names of all processes below this one, by pid."""
    output = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=2) for line in output.splitlines()]
    found: dict[int, str] = {}
    for _ in rows:
        below = {int(r[0]): r[2] for r in rows if int(r[1]) in {pid, *found}}
        if below.keys() == found.keys():
            break
        found = below
    return found


@pytest.fixture
def logged(tmp_path: Path) -> RunDirectory:
    """A stopped run with a log of many pages."""
    run = make_tiny_run(tmp_path / "v3", total_steps=64)
    train_here(run, {8: ask_stop})
    run.log.write_text("".join(f"step {step:,}: loss 2.9\n" for step in range(5000)) + f"{_END}\n")
    return run


@pytest.mark.skipif(not os.access("/usr/bin/less", os.X_OK), reason="less is not installed")
def test_pager_opens_at_the_place_and_leaves_the_console_as_it_was(
    terminal: Terminal, logged: RunDirectory
) -> None:
    console_in(terminal, logged, "less")
    terminal.wait_for("s", _END)
    terminal.press("s", "/", *"4,321", "Enter")
    terminal.wait_for("s", "step 4,321")
    terminal.press("s", "Enter")
    screen = terminal.wait_for("s", lambda screen: "5 log" not in screen and "4,321" in screen)
    assert screen.startswith("step 4,321: loss 2.9\nstep 4,322")
    terminal.press("s", "q")
    screen = terminal.wait_for("s", "5 log")
    assert "step 4,321" in screen
    assert "c checkpoint" in screen or "d detach" in screen
    terminal.press("s", "d")
    terminal.wait_for("s", "ended 0")


@pytest.mark.parametrize("ends", ["terminal", "console"])
def test_console_that_ends_takes_its_pager_with_it(
    ends: str, terminal: Terminal, logged: RunDirectory, tmp_path: Path
) -> None:
    # A pager that heeds neither a hang-up nor the end of its input.
    stubborn = tmp_path / "stubborn"
    stubborn.write_text("#!/bin/sh\ntrap '' HUP TERM\necho paging\nwhile :; do sleep 0.1; done\n")
    stubborn.chmod(0o755)
    console_in(terminal, logged, str(stubborn))
    terminal.press("s", "Enter")
    terminal.wait_for("s", lambda screen: screen.startswith("paging"))
    shell = terminal.pane_pid("s")
    below = descendants(shell)
    pagers = [pid for pid, name in below.items() if name == "stubborn"]
    consoles = [pid for pid, name in below.items() if pid not in pagers and name != "sleep"]
    assert len(pagers) == 1
    if ends == "terminal":
        terminal.kill("s")
    else:
        os.kill(consoles[0], signal.SIGTERM)
    ending = (*pagers, *consoles)
    wait_for(lambda: not any(map(process_start_time, ending)), "the end of console and pager")


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run that is started again after a crash; its trainer is killed when the test is over."""
    run = make_tiny_run(tmp_path / "v3", total_steps=1_000_000, every=500_000)
    run.settings.write_text(run.settings.read_text() + "[trainer]\nrestart = true\n")
    yield run
    if (holder := holder_of(run.lock)) and holder.pid:
        os.kill(holder.pid, signal.SIGKILL)
        wait_for(lambda: process_start_time(holder.pid) is None, "the trainer's end")


def test_crashed_trainer_is_started_again_while_a_pager_is_open(
    terminal: Terminal, endless: RunDirectory
) -> None:
    console_in(terminal, endless, "sh -c 'echo paging; read line'", "--launch")
    terminal.wait_for("s", "● training")
    before = holder_of(endless.lock)
    assert before is not None
    terminal.press("s", "Enter")
    terminal.wait_for("s", lambda screen: screen.startswith("paging"))
    os.kill(before.pid, signal.SIGKILL)

    def is_another() -> bool:
        now = holder_of(endless.lock)
        return now is not None and now.pid not in (0, before.pid)

    wait_for(is_another, "another trainer")
    assert terminal.screen("s").startswith("paging")
    terminal.press("s", "Enter")
    terminal.wait_for("s", "5 log")
    terminal.press("s", "d")
    terminal.wait_for("s", "ended 0")
