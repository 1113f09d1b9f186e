"""Series by series how a run is."""

from dataclasses import replace

from console.view.disk_forecast import Room
from console.view.health_rows import HealthRow, health_rows
from console.view.run_view import RunView, Status
from tests.console import fixed_run


def row_of(view: RunView, series: str) -> HealthRow:
    (found,) = [row for row in health_rows(view, fixed_run.NOW) if row.series == series]
    return found


VIEW = fixed_run.fixed_view(30)


def test_disk_and_checkpoints_age_stand_beside_what_was_judged() -> None:
    assert row_of(VIEW, "disk").text == "612 GB free, full in 4 d 4 h"
    assert row_of(VIEW, "checkpoint").text == "7 min old, usually one in 16 min"
    assert not any(row.is_ill for row in health_rows(VIEW, fixed_run.NOW))


def test_a_disk_that_is_almost_full_and_a_checkpoint_that_is_overdue_come_first() -> None:
    full = Room(free_bytes=1_000_000_000, checkpoint_bytes=fixed_run.CHECKPOINT_BYTES)
    newest = VIEW.checkpoints[-1]
    view = replace(VIEW, room=full, overdue_since=newest.step)
    assert [row.series for row in health_rows(view, fixed_run.NOW)][:2] == ["disk", "checkpoint"]
    overdue = row_of(view, "checkpoint")
    assert (overdue.since_step, overdue.since_t) == (newest.step, newest.modified)


def test_inodes_stand_in_place_of_bytes_where_they_are_used_up_first() -> None:
    short = replace(VIEW.room, free_inodes=12)
    assert row_of(replace(VIEW, room=short), "disk").text.startswith("12 files free (inodes)")


def test_what_is_not_known_has_no_row_and_no_checkpoint_is_said() -> None:
    new = RunView(name="r", path=VIEW.path, status=Status(word="starting"), is_running=True)
    (only,) = health_rows(new, fixed_run.NOW)
    assert (only.series, only.text) == ("checkpoint", "none yet")
    none_yet = row_of(replace(new, overdue_since=0), "checkpoint")
    assert (none_yet.is_ill, none_yet.since_step) == (True, None)


def test_what_is_ill_says_since_when_and_how_sure() -> None:
    view = replace(VIEW, health=fixed_run.ill_health())
    score, chat = health_rows(view, fixed_run.NOW)[:2]
    assert (score.series, score.since_step) == ("score", 36_182)
    assert score.sureness == "certain: 21 standard errors"
    assert chat.sureness == "likely: 7 standard errors"
    assert len(health_rows(view, fixed_run.NOW)) == len(health_rows(VIEW, fixed_run.NOW))


def test_a_warning_stands_behind_what_is_ill_and_is_no_ill() -> None:
    full = Room(free_bytes=1_000_000_000, checkpoint_bytes=fixed_run.CHECKPOINT_BYTES)
    view = replace(VIEW, room=full, warnings=("seen more than 4 times: stdlib-docs 1,177×",))
    first, second, *_ = health_rows(view, fixed_run.NOW)
    assert (first.series, second.series) == ("disk", "sources")
    assert (second.is_ill, second.is_warning) == (False, True)
