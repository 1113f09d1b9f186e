"""Alarms stay until somebody has acknowledged them; the line of who was away goes with a key."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from console.ui.screens.alarms import AlarmsScreen
from console.ui.screens.dashboard import Dashboard
from tests.console import fixed_run
from tests.console.headless import Stage

DISK, GATE = "disk almost full: 3 GB free", "coherence gate: the last 2 [/]audits under 30"
VIEW = fixed_run.fixed_view(12)


def alarmed() -> Stage:
    return Stage(replace(VIEW, alarms=(DISK, GATE)))


def top(stage: Stage) -> str:
    return stage.text().splitlines()[0]


async def until_on_top(stage: Stage, text: str) -> None:
    await stage.until(lambda: text in top(stage), text)


def is_dashboard(stage: Stage) -> Callable[[], bool]:
    return lambda: isinstance(stage.app.screen, Dashboard)


async def test_the_header_counts_alarms_until_they_are_acknowledged_though_they_are_over() -> None:
    async with alarmed().opened(80, 24) as stage:
        assert "! 2 alarms" in top(stage)
        await stage.becomes(VIEW)
        assert "! 2 alarms" in top(stage)
        await stage.pilot.press("exclamation_mark")
        await stage.until(lambda: "Alarms: 2 to acknowledge" in stage.text(), "the alarms")
        assert stage.text().count("✓ over") == 2
        await stage.pilot.press("a")
        await stage.until(lambda: "Alarms: 1 to acknowledge" in stage.text(), "one less")
        await stage.pilot.press("space")
        await stage.until(lambda: "no alarm" in stage.text(), "none")
        await stage.pilot.press("escape")
        await stage.until(is_dashboard(stage), "the dashboard")
        assert "alarm" not in top(stage)


async def test_an_acknowledged_alarm_that_lasts_is_listed_and_counts_no_more() -> None:
    async with alarmed().opened(80, 24) as stage:
        await stage.pilot.press("exclamation_mark", "A")
        await stage.until(lambda: stage.text().count("✖ lasts, seen") == 2, "both")
        assert "[/]audits" in stage.text()
        await stage.pilot.press("q")
        await stage.until(is_dashboard(stage), "the dashboard")
        assert "! " not in top(stage)


async def test_enter_goes_to_the_step_at_which_it_was_raised() -> None:
    async with alarmed().opened(80, 24) as stage:
        await stage.becomes(replace(VIEW, step=VIEW.step + 58, alarms=(DISK, GATE)))
        await stage.pilot.press("exclamation_mark", "enter")
        await stage.until(is_dashboard(stage), "the dashboard")
        dashboard = stage.app.screen
        assert isinstance(dashboard, Dashboard)
        await stage.until(lambda: dashboard.step == VIEW.step, "the step")


async def test_without_alarms_the_keys_do_nothing() -> None:
    async with Stage(VIEW).opened(80, 24) as stage:
        await stage.pilot.press("exclamation_mark", "a", "A", "enter", "down")
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, AlarmsScreen)
        assert "no alarm" in stage.text()


async def test_who_was_away_is_told_what_happened_until_the_first_key(tmp_path: Path) -> None:
    memory = tmp_path / "run.json"
    async with Stage(VIEW, memory=memory).opened(120, 40) as first:
        first.hands.monotonic += 61
        await first.wake()
    later = Stage(replace(VIEW, step=VIEW.step + 100), memory=memory)
    later.hands.wall += 9 * 3600
    async with later.opened(120, 40) as stage:
        await stage.wake()
        await stage.until(lambda: "away 9 h 00: +100 steps" in stage.text(), "the line")
        await stage.pilot.press("2")
        await stage.until(lambda: "away 9 h" not in stage.text(), "its end")
