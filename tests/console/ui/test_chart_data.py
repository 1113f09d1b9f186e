"""What the chart is given of a glance."""

from dataclasses import replace

from console.chart.chart_data import Alarm
from console.chart.series import Series
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
    )
    view = replace(fixed_run.fixed_view(12), events=events)
    waiting = (
        alarm_book.Alarm(topic="disk", text="disk: 1 GB", step=10, raised=1.0),
        alarm_book.Alarm(topic="gate", text="gate: low", step=20, raised=2.0),
    )
    feed, glance = ChartFeed(), Glance(view, Series().view(), alarms=waiting)
    data = feed.data(glance)
    assert data.alarms == (
        Alarm(step=10, label="disk: 1 GB"),
        Alarm(step=14, label="checkpoint not saved: full"),
        Alarm(step=20, label="gate: low"),
    )
    assert feed.data(glance) == data
