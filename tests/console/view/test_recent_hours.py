"""The last hours as a few columns."""

import pytest

from console.view.recent_hours import RecentHours


def after(minutes: int, share: float = 1.0) -> RecentHours:
    recent = RecentHours()
    for second in range(0, minutes * 60 + 1, 2):
        recent.add(float(second), share)
    return recent


def test_nothing_is_shown_of_the_minute_under_way() -> None:
    recent = RecentHours()
    for second in range(0, 60, 2):
        recent.add(float(second), 0.5)
        assert recent.groups() == ()
    recent.add(60.0, 0.9)
    assert recent.groups() == (4 / 7,)


@pytest.mark.parametrize("minutes", [1, 5, 12, 13, 100, 240, 500])
def test_any_length_is_at_most_thirteen_columns(minutes: int) -> None:
    groups = after(minutes).groups()
    assert 1 <= len(groups) <= 13
    assert set(groups) == {1.0}


def test_columns_change_once_a_minute_at_most() -> None:
    recent = after(0)
    changes, before = 0, recent.groups()
    for second in range(2, 3600, 2):
        recent.add(float(second), (second * 7919 % 100) / 100)
        changes += recent.groups() != before
        before = recent.groups()
    assert 0 < changes < 60


def test_minutes_of_which_nothing_is_known_leave_no_column() -> None:
    recent = RecentHours()
    for second in range(0, 300, 2):
        recent.add(float(second), None if second < 120 else 0.0)
    assert recent.groups() == (0.0, 0.0)


def test_an_hour_at_work_and_an_hour_at_rest_can_be_told_apart() -> None:
    recent = after(120)
    for second in range(7200, 14_401, 2):
        recent.add(float(second), 0.0)
    groups = recent.groups()
    assert groups == tuple(sorted(groups, reverse=True))
    assert groups.count(1.0) == groups.count(0.0) == 6
