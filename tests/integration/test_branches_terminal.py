"""The branches of a run in a real terminal: one is opened in its own console and left again."""

from pathlib import Path

import pytest

from tests.integration.terminal import Terminal, needs_tmux
from tests.tiny import ask_stop, make_tiny_run, train_here
from trainer.rundir.fork import make_fork

pytestmark = [needs_tmux, pytest.mark.timeout(200)]


def test_branch_is_opened_in_this_terminal_and_left_for_the_list(
    terminal: Terminal, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "v3", total_steps=64)
    train_here(run, {8: ask_stop})
    make_fork(run, 8, "trial", settings={}, change=None, t=1.0)
    terminal.console("s", run.path)
    terminal.wait_for("s", "4 checkpoints: 1")
    terminal.press("s", "4")
    terminal.wait_for("s", "f fork")
    terminal.press("s", "f")
    terminal.wait_for("s", "Enter next, choose")
    terminal.press("s", *["Tab"] * 4)
    terminal.wait_for("s", "▸ Make both")
    terminal.press("s", "Down", "Down", "Down")
    terminal.wait_for("s", "▸ Branches of this run: 1")
    terminal.press("s", "Enter")
    terminal.wait_for("s", "m compare with this")
    terminal.press("s", "Down")
    terminal.wait_for(
        "s", lambda screen: any("▸" in x and "trial" in x for x in screen.split("\n"))
    )
    terminal.press("s", "o")
    terminal.wait_for("s", lambda screen: "trial" in screen and "Branches of v3" not in screen)
    terminal.wait_for("s", "not running")
    terminal.press("s", "d")
    terminal.wait_for("s", "Branches of v3")
    terminal.press("s", "Up")
    terminal.wait_for("s", lambda screen: any("▸" in x and "v3" in x for x in screen.split("\n")))
    terminal.press("s", "Escape")
    terminal.wait_for("s", "d detach")
    terminal.press("s", "d")
    terminal.wait_for("s", "ended 0")
