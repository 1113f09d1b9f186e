"""A history on disk is judged in the look: its verdict is there as soon as it can be."""

from dataclasses import replace
from pathlib import Path

import pytest

from console.follow.attendance import Attendance
from console.follow.follower import Clock, Follower, reasons_to_look
from console.health.verdict import NOT_JUDGED
from tests.console import fixed_run
from tests.console.headless import ScriptedFollower
from tests.console.judged_run import FALLS_FROM, write_healthy, write_ill
from trainer.rundir.layout import RunDirectory


def test_a_short_history_is_judged_with_the_first_look(run: RunDirectory) -> None:
    write_ill(run)
    follower = Follower(run)
    while not (view := follower.look()).is_complete:
        pass
    assert view.health.verdict == "ill"
    assert view.health.reasons[0].since_step == pytest.approx(FALLS_FROM, abs=400)
    assert view.alarms == tuple(view.judged_alarms)
    assert follower.is_complete
    assert follower.look() == view


async def test_a_long_one_is_shown_first_and_judged_at_once_after_that(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.follow.follower._SHORT_RECORDS", 1000)
    write_healthy(run)
    follower, views = Follower(run), []
    reasons = reasons_to_look(follower)
    while not follower.is_complete:
        await anext(reasons)
        views.append(follower.look())
    await reasons.aclose()
    whole = [view for view in views if view.is_complete]
    assert [view.health.verdict for view in whole] == ["unknown", "healthy"]
    assert not whole[0].is_judged


def test_alarms_of_the_console_before_are_not_over_while_the_run_is_not_judged(
    tmp_path: Path,
) -> None:
    alarms = ("score: since step ~4,800: audit score 75 → 37",)
    ill = replace(
        fixed_run.fixed_view(3),
        health=fixed_run.ill_health(),
        alarms=alarms,
        judged_alarms={alarms[0]: 4800},
    )
    first = Attendance(ScriptedFollower(ill), tmp_path / "memory.json")
    (alarm,) = first.look().alarms
    first.acknowledge([alarm])
    follower = ScriptedFollower(replace(ill, health=NOT_JUDGED, alarms=(), judged_alarms={}))
    second = Attendance(follower, tmp_path / "memory.json")
    second.look()
    follower.view = ill
    (same,) = second.look().alarms
    assert (same.is_acknowledged, same.over, same.raised) == (True, None, alarm.raised)


def test_who_was_away_is_told_of_what_the_judge_found_meanwhile(tmp_path: Path) -> None:
    view = fixed_run.fixed_view(3)
    wall = [fixed_run.NOW]
    clock = Clock(wall=lambda: wall[0])
    first = Attendance(ScriptedFollower(view), tmp_path / "memory.json", clock=clock)
    first.look()
    first.leave()
    wall[0] += 9 * 3600
    alarms = ("score: since step ~4,800: audit score 75 → 37",)
    second = Attendance(
        ScriptedFollower(replace(view, alarms=alarms, judged_alarms={alarms[0]: 4800})),
        tmp_path / "memory.json",
        clock=clock,
    )
    second.look()
    assert "1 alarm (!)" in second.look().away
