"""When the next start is asked about: a look costs, and an idle console must cost nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from console.follow.follower import Clock, Follower
from console.view.next_start import NextStartBook
from trainer.rundir.checkpoints.checkpoint import Inventory
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.start_checks import NextStart, look_ahead

AN_HOUR = range(1000, 4600, 2)
"""Monotonic seconds of the ticks of an hour."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunDirectory]:
    """One entry each time that the next start was asked about."""
    asked: list[RunDirectory] = []

    def note(run: RunDirectory, **facts: Any) -> NextStart:
        asked.append(run)
        return look_ahead(run, **facts)

    monkeypatch.setattr("console.view.next_start.look_ahead", note)
    return asked


@pytest.fixture
def look(run: RunDirectory) -> Callable[[float], NextStartBook]:
    book, nothing = NextStartBook(run), Inventory(checkpoints=(), skipped=())

    def look_at(now: float) -> NextStartBook:
        book.look(now, inventory=nothing, steps=np.zeros(0, np.int64), is_foreign=False)
        return book

    return look_at


def test_a_run_that_stands_still_is_asked_about_twice_a_minute_at_most(
    look: Callable[[float], NextStartBook], asked: list[RunDirectory]
) -> None:
    for now in AN_HOUR:
        look(now)
    assert 100 < len(asked) <= 120


def test_settings_that_change_are_asked_about_at_once(
    run: RunDirectory, look: Callable[[float], NextStartBook]
) -> None:
    assert look(1000).refusals == ()
    run.settings.write_text("seed =")
    (refusal,) = look(1002).refusals
    assert "not valid TOML" in refusal.what


def test_a_source_that_goes_away_is_told_by_the_next_tick_of_thirty_seconds(
    run: RunDirectory, tmp_path: Path, look: Callable[[float], NextStartBook]
) -> None:
    file = tmp_path / "source.txt"
    file.write_text("text")
    head = run.settings.read_text().partition("[sources.")[0]
    run.settings.write_text(f"{head}[sources.text]\npath = '{file}'\n")
    assert look(1000).refusals == ()
    file.unlink()
    (refusal,) = look(1030).refusals
    assert refusal.is_of_source


def test_nothing_is_asked_before_the_history_is_read(
    run: RunDirectory, asked: list[RunDirectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.view.cached_file.CHUNK_BYTES", 500)
    monkeypatch.setattr("console.follow.follower._LOOK_SECONDS", 0.0)
    losses = RecordArray(run.loss)
    for step in range(1, 21):
        losses.append({"step": step, "loss": 3.0, "ema": 3.0, "t": 1.0, "ms": 1.0})
    follower = Follower(run, clock=Clock(monotonic=lambda: 1000.0, wall=lambda: 0.0))
    n_looks = 0
    while not follower.look().is_complete:
        n_looks += 1
        assert asked == []
    assert n_looks > 1
    assert len(asked) == 1
