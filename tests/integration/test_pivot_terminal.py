"""A whole pivot from the wizard, in a real terminal, on a real tiny run."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.terminal import Terminal, needs_tmux
from tests.tiny import make_tiny_run, strict_json, write_paragraphs
from tests.waiting import wait_for
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import holder_of, process_start_time
from trainer.rundir.pivot.journal import read_pivot

pytestmark = [needs_tmux, pytest.mark.timeout(300)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    """Two sources, and boundaries so far apart that none comes by itself."""
    run = make_tiny_run(tmp_path / "v3", total_steps=1_000_000, every=500_000)
    write_paragraphs(tmp_path / "letters.jsonl", "letters", 40)
    yield run
    holder = holder_of(run.lock)
    if holder and holder.pid:
        os.kill(holder.pid, signal.SIGKILL)
        wait_for(lambda: process_start_time(holder.pid) is None, "the trainer's end")


def to_review(terminal: Terminal, run: RunDirectory) -> None:
    """A cap lowered, a source removed, one added, a note; to be held at once."""
    terminal.press("s", "p")
    terminal.wait_for("s", "n next")
    terminal.wait_for("s", "takes signals")
    terminal.press("s", "n")
    terminal.wait_for("s", "▸ large")
    terminal.press("s", "a")
    terminal.wait_for("s", "▸ name")
    terminal.press("s", *"letters")
    terminal.wait_for("s", "letters")
    terminal.press("s", "Enter")
    terminal.wait_for("s", "▸ text")
    terminal.paste("s", str(run.path.with_name("letters.jsonl")), bracketed=True)
    terminal.wait_for("s", f"▸ text {str(run.path)[:20]}")
    terminal.press("s", "Enter")
    terminal.wait_for("s", "new: 40 documents")
    terminal.wait_for("s", "▸ large")
    terminal.press("s", "Right", *"0.5", "Down", "x")
    terminal.wait_for("s", "removed: its arm ends")
    terminal.press("s", "Tab")
    terminal.wait_for("s", "▸ why")
    terminal.press("s", *"less-of-it", "C-Right")
    terminal.wait_for("s", "At the next boundary")
    terminal.press("s", "Down")
    terminal.press_until("s", "n", "type the name, then Enter")


@pytest.mark.parametrize("size", [(160, 45), (80, 24)], ids=["large", "small"])
def test_pivot_from_the_wizard_to_the_first_step_of_the_new_phase(
    terminal: Terminal, run: RunDirectory, size: tuple[int, int]
) -> None:
    terminal.console("s", run.path, "--launch")
    terminal.resize("s", *size)
    terminal.wait_for("s", "● training")
    before = run.settings.read_bytes()
    to_review(terminal, run)
    terminal.paste("s", "v3\n", bracketed=True)
    terminal.wait_for("s", "a paste is not taken")
    terminal.paste("s", "v3\n", bracketed=False)
    terminal.wait_for("s", "that came too quickly")
    assert run.settings.read_bytes() == before
    assert not run.pivot.exists(), "a paste confirms nothing"
    terminal.press_until("s", "Enter", "✓ 1 requested")
    terminal.wait_for("s", "✓ 6 resumed in the new phase")
    terminal.wait_for("s", "the pivot is over")
    terminal.press_until("s", "Enter", "● training")
    terminal.wait_for("s", "phase 2")
    journal = read_pivot(run.phase_archive(1) / "pivot.json")
    assert journal is not None
    assert journal.note == "less-of-it"
    settings = load_settings(run.settings)
    assert list(settings.sources) == ["large", "letters"]
    assert settings.policy["large"].cap == 0.5
    terminal.press("s", "q")
    terminal.wait_for("s", "Stop training gracefully")
    terminal.wait_for("s", "Enter choose")
    terminal.press("s", "Enter")
    terminal.wait_for("s", "ended 0")
    steps = [record["step"] for record in strict_json(run.loss)]
    assert steps == list(range(1, len(steps) + 1))


def test_console_killed_in_a_pivot_is_followed_by_one_that_offers_to_continue(
    terminal: Terminal, run: RunDirectory
) -> None:
    terminal.console("s", run.path, "--launch")
    terminal.wait_for("s", "● training")
    terminal.press("s", "p")
    terminal.wait_for("s", "n next")
    terminal.wait_for("s", "takes signals")
    terminal.press("s", "n")
    terminal.wait_for("s", "▸ large")
    terminal.press("s", "Right", *"0.5")
    terminal.press_until("s", "n", "At the next boundary")
    terminal.press_until("s", "n", "type the name, then Enter")
    terminal.press("s", "v", "3")
    terminal.press_until("s", "Enter", "✓ 1 requested")
    terminal.wait_for("s", "waiting for the checkpoint of step 500,000")
    terminal.kill("s")
    terminal.console("s", run.path)
    terminal.wait_for("s", "asked for by")
    terminal.wait_for("s", "Enter choose")
    terminal.press("s", "Down", "Enter")
    terminal.wait_for("s", "the pivot is taken back")
    assert not run.pivot.exists()
    terminal.wait_for("s", "● training")
