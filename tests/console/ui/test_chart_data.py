"""What the chart is given of a glance."""

from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.ui.chart_data import ChartFeed
from console.view import alarm_book
from console.view.glance import Glance
from console.view.run_view import Event, EventKind, Severity
from tests.console import fixed_run


def event(kind: EventKind, step: int | None, text: str, severity: Severity) -> Event:
    return Event(t=1.0, step=step, kind=kind, text=text, severity=severity)


def test_alarms_come_from_the_log_and_from_what_waits_each_once_and_never_without_a_step() -> None:
    events = (
        event(EventKind.ALARM, 10, "ALARM disk: 1 GB", Severity.BAD),
        event(EventKind.ALARM, 12, "over: disk", Severity.OK),
        event(EventKind.SAVE, 14, "ALARM checkpoint not saved: full", Severity.BAD),
        event(EventKind.ALARM, None, "ALARM of old", Severity.BAD),
        event(EventKind.CRASH, 16, "failed: x", Severity.BAD),
        event(EventKind.HEALTH, 17, "score 75 → 37", Severity.BAD),
        event(EventKind.HEALTH, 18, "over: score 75 → 37", Severity.OK),
        event(EventKind.SPIKE, 19, "loss shot up", Severity.ATTENTION),
    )
    view = fixed_run.fixed_view(12)
    waiting = (
        alarm_book.Alarm(topic="disk", text="disk: 1 GB", step=10, raised=1.0),
        alarm_book.Alarm(topic="gate", text="gate: low", step=20, raised=2.0),
    )
    feed, glance = ChartFeed(), Glance(view, Series().view(), alarms=waiting, events=events)
    data = feed.data(glance)
    assert data.marks[len(view.marks) :] == tuple(
        Mark(step=step, label=label, kind=MarkKind.ALARM)
        for step, label in (
            (10, "disk: 1 GB"),
            (14, "checkpoint not saved: full"),
            (17, "score 75 → 37"),
            (19, "loss shot up"),
            (20, "gate: low"),
        )
    )
    assert feed.data(glance) == data
