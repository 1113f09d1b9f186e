"""One line tells what became of a run while nobody looked."""

from dataclasses import replace

from console.view.away import away_words, seen
from console.view.run_view import Event, EventKind, Severity, Status
from tests.console import fixed_run

NOW = fixed_run.NOW
VIEW = replace(fixed_run.fixed_view(3), attempt=4)
AFTER = seen(VIEW, NOW)
BEFORE = replace(AFTER, t=NOW - 9 * 3600, step=AFTER.step - 3240, attempt=3, ema=3.2143, score=71.6)


def words(**changes: object) -> str:
    return away_words(BEFORE, replace(VIEW, **changes), n_alarms=0, now=NOW)  # type: ignore[arg-type]


def test_all_that_moved_is_told() -> None:
    assert words() == (
        "away 9 h 00: +3,240 steps, 1 restart, EMA 3.21 → 2.81, score 72 → 79, nothing wrong"
    )


def test_what_went_wrong_is_named() -> None:
    bad = Event(t=NOW - 60, step=5, kind=EventKind.CRASH, text="killed", severity=Severity.BAD)
    old = replace(bad, t=BEFORE.t - 60, kind=EventKind.NONFINITE)
    failed = Status(word="failed", severity=Severity.BAD)
    assert words(events=(old, bad)).endswith(", crash (e)")
    assert words(status=failed).endswith(", failed")
    assert away_words(BEFORE, VIEW, n_alarms=2, now=NOW).endswith(", 2 alarms (!)")


def test_a_run_that_did_not_move_and_a_new_phase_are_told() -> None:
    still = away_words(replace(AFTER, t=BEFORE.t), VIEW, n_alarms=0, now=NOW)
    assert still == "away 9 h 00: no step, EMA 2.81, score 79, nothing wrong"
    assert "phase 2 → 3" in words(phase=3)


def test_a_run_of_which_little_is_known_tells_what_is_known() -> None:
    bare = replace(VIEW, last=None, audits=(), attempt=None)
    assert away_words(BEFORE, bare, n_alarms=0, now=NOW) == (
        "away 9 h 00: +3,240 steps, nothing wrong"
    )


def test_who_was_away_for_minutes_is_told_nothing() -> None:
    assert away_words(replace(BEFORE, t=NOW - 300), VIEW, n_alarms=0, now=NOW) == ""
    assert away_words(replace(BEFORE, t=NOW + 300), VIEW, n_alarms=0, now=NOW) == ""
