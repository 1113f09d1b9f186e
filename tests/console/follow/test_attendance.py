"""An operator's consoles remember one run after the other, and each run by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from console.chart.series import Series
from console.follow.attendance import Attendance
from console.follow.follower import Clock
from console.follow.operator_file import Remembered, read_memory
from console.follow.operator_paths import memory_path
from console.view.run_view import MOVED, EventKind, RunView, Severity, Status
from tests.console import fixed_run
from tests.console.headless import ScriptedFollower

DISK = "disk almost full: 3 GB free"
HOUR = 3600.0


class Operator:
    """Opens one console after the other."""

    def __init__(self, memory: Path) -> None:
        self.memory = memory
        self.wall = fixed_run.NOW
        self.monotonic = 100.0
        self.clock = Clock(wall=lambda: self.wall, monotonic=lambda: self.monotonic)

    def opens(self, view: RunView, began: float = 1000.0) -> Attendance:
        series = Series()
        series.append_many([1], [3.0], [3.0], t=[began])
        self.follower = ScriptedFollower(view, series)
        return Attendance(self.follower, self.memory, clock=self.clock)


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path / "state" / "andrea" / "run.json")


VIEW = replace(fixed_run.fixed_view(3), attempt=3)


def test_what_happened_since_the_last_console_is_told_from_the_second_look_on(
    operator: Operator,
) -> None:
    first = operator.opens(VIEW)
    assert [first.look().away, first.look().away] == ["", ""]
    first.leave()
    operator.wall += 9 * HOUR
    second = operator.opens(replace(VIEW, step=VIEW.step + 3240, attempt=4))
    assert second.look().away == ""  # the events are not known yet
    assert second.look().away.startswith("away 9 h 00: +3,240 steps, 1 restart, ")


def test_a_run_made_anew_under_the_same_path_is_another(operator: Operator) -> None:
    first = operator.opens(replace(VIEW, alarms=(DISK,)))
    first.look()
    first.leave()
    operator.wall += HOUR
    other = operator.opens(VIEW, began=2000.0)
    other.look()
    assert other.look().away == ""
    assert other.look().alarms == ()


def test_what_was_acknowledged_stays_so_in_the_next_console_and_in_one_open_beside(
    operator: Operator,
) -> None:
    view = replace(VIEW, alarms=(DISK,))
    first = operator.opens(view)
    (alarm,) = first.look().alarms
    first.leave()
    beside = operator.opens(view)
    beside.look()
    beside.acknowledge([alarm])
    operator.monotonic += 61
    first.look()
    assert [each.is_acknowledged for each in first.look().alarms] == [True]
    first.leave()
    (again,) = operator.opens(view).look().alarms
    assert (again.is_acknowledged, again.raised) == (True, alarm.raised)


def test_an_alarm_is_over_when_the_run_tells_it_no_more(operator: Operator) -> None:
    attendance = operator.opens(replace(VIEW, alarms=(DISK,)))
    attendance.look()
    operator.follower.view = VIEW
    operator.wall += 60
    (alarm,) = attendance.look().alarms
    assert alarm.over == operator.wall
    attendance.acknowledge([alarm])
    assert attendance.look().alarms == ()


def test_it_is_written_down_each_minute_and_not_at_each_look(operator: Operator) -> None:
    attendance = operator.opens(VIEW)
    attendance.look()
    assert not operator.memory.exists()
    operator.monotonic += 61
    attendance.look()
    remembered = read_memory(operator.memory)
    assert remembered.seen is not None
    assert remembered.seen.step == VIEW.step
    assert remembered.run == str(VIEW.path)


def test_a_history_that_is_still_being_read_and_a_run_that_moved_say_nothing(
    operator: Operator,
) -> None:
    moved = Status(word=MOVED, severity=Severity.BAD)
    for view in (replace(VIEW, is_complete=False), replace(VIEW, status=moved)):
        attendance = operator.opens(view)
        attendance.look()
        attendance.leave()
        assert not operator.memory.exists()


def test_a_memory_that_cant_be_kept_is_told_and_the_console_goes_on(operator: Operator) -> None:
    operator.memory.parent.parent.mkdir()
    operator.memory.parent.write_text("a file stands where the folder would be")
    attendance = operator.opens(VIEW)
    attendance.look()
    attendance.leave()
    assert "what was seen is not remembered" in attendance.problem
    assert attendance.look().view is VIEW


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b'{"seen": 5}', b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_ours_is_no_memory(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(written)
    assert read_memory(path) == Remembered()


def test_each_run_has_its_own_place_in_the_operators_home(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home")}
    one, other = (memory_path(tmp_path / name, home) for name in ("r1", "r2"))
    assert one != other
    assert one is not None
    assert one.parent == tmp_path / "home" / ".local" / "state" / "andrea"
    given = memory_path(tmp_path / "r1", {**home, "XDG_STATE_HOME": str(tmp_path)})
    assert given == tmp_path / "andrea" / one.name
    assert memory_path(tmp_path / "r1", {**home, "XDG_STATE_HOME": "not/absolute"}) == one
    assert memory_path(tmp_path / "r1", {}) is None


def test_what_only_a_console_warned_of_stays_an_event_when_it_is_over_and_acknowledged(
    operator: Operator,
) -> None:
    ill = "score: audit score 75 → 37 since step ~1"
    view = replace(VIEW, alarms=(DISK, ill), judged_alarms={ill: 1})
    attendance = operator.opens(view)
    attendance.look()
    operator.follower.view = VIEW
    operator.wall += 60
    attendance.acknowledge(attendance.look().alarms)
    attendance.leave()
    glance = operator.opens(VIEW).look()
    assert glance.alarms == ()
    assert [(event.kind, event.step, event.text, event.t) for event in glance.events] == [
        (EventKind.HEALTH, 1, ill, 1000.0),
        (EventKind.ALARM, VIEW.step, DISK, operator.wall - 60),
        (EventKind.ALARM, VIEW.step, f"over: {DISK}", operator.wall),
        (EventKind.HEALTH, VIEW.step, f"over: {ill}", operator.wall),
    ]
