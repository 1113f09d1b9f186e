"""What only a console warned of, as events: ills of the health, the disk, what is overdue; pure."""

import math
from collections.abc import Iterator, Sequence

from console.chart.series import SeriesView
from console.view.alarm_book import RAISED, Alarm
from console.view.run_view import Event, EventKind, Severity

_TOLD_BY_AUDITS = "coherence gate"


def with_alarms(
    events: Sequence[Event], alarms: Sequence[Alarm], series: SeriesView
) -> tuple[Event, ...]:
    """The events of a run and those of the alarms that its own log does not tell; oldest first."""
    topics = {
        _topic(event.text) for event in events if event.kind in (EventKind.ALARM, EventKind.SAVE)
    }
    own = [alarm for alarm in alarms if alarm.topic not in topics | {_TOLD_BY_AUDITS}]
    found = [event for alarm in own for event in _of_alarm(alarm, series)]
    return tuple(sorted((*events, *found), key=lambda event: event.t or 0.0))


def _topic(text: str) -> str:
    return text.removeprefix(RAISED).removeprefix("over: ").partition(": ")[0]


def _of_alarm(alarm: Alarm, series: SeriesView) -> Iterator[Event]:
    """An ill of the health stands where it began, though it was found later."""
    kind = EventKind.ALARM if alarm.since_step is None else EventKind.HEALTH
    t = alarm.raised if alarm.since_step is None else _time_at(alarm.since_step, series)
    yield Event(
        t=alarm.raised if t is None else t,
        step=alarm.place,
        kind=kind,
        text=alarm.text,
        severity=Severity.BAD,
    )
    if alarm.over is not None:
        yield Event(t=alarm.over, step=alarm.over_step, kind=kind, text=f"over: {alarm.text}")


def _time_at(step: int, series: SeriesView) -> float | None:
    at = series.at(step)
    t = math.nan if at is None else float(series.t[at])
    return t if math.isfinite(t) else None
