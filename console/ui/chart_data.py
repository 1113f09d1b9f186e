"""From a glance at a run to what the chart draws."""

from collections.abc import Sequence

from console.chart import step_marks as marks
from console.chart.chart_data import ChartData, Other, Points
from console.chart.track import Track
from console.view import alarm_book
from console.view.audit_points import points_of
from console.view.glance import Glance
from console.view.run_view import Audit, Event, EventKind, Mark, Severity

_ILLS = (EventKind.ALARM, EventKind.SAVE, EventKind.HEALTH)


class ChartFeed:
    """Makes the points of the audits once for as long as these stay the same."""

    def __init__(self) -> None:
        self._audits: tuple[Audit, ...] = ()
        self._points: dict[Track, tuple[Points, ...]] = {}
        self._alarmed: tuple[tuple[Event, ...], tuple[alarm_book.Alarm, ...]] = ((), ())
        self._alarms: tuple[marks.Mark, ...] = ()

    def data(
        self,
        glance: Glance,
        others: tuple[Other, ...] = (),
        fields: tuple[Points, ...] = (),
    ) -> ChartData:
        """What the chart shows of this glance, of other runs and of the trainer's own fields."""
        view = glance.view
        if view.audits is not self._audits:
            self._audits, self._points = view.audits, points_of(view.audits)
        if (glance.events, glance.alarms) != self._alarmed:
            self._alarmed = (glance.events, glance.alarms)
            self._alarms = alarms_of(*self._alarmed)
        chart_marks = tuple(_chart_mark(mark) for mark in view.marks)
        return ChartData(
            series=glance.series,
            marks=chart_marks + self._alarms,
            points=self._points,
            others=others,
            fields=fields,
        )


def alarms_of(
    events: Sequence[Event], waiting: Sequence[alarm_book.Alarm]
) -> tuple[marks.Mark, ...]:
    """Where ills and spikes began, those that are over too, and what lasts or waits for somebody;
    each once.
    """
    told = [
        (event.step, event.text.removeprefix(alarm_book.RAISED))
        for event in events
        if (event.kind in _ILLS and event.severity is Severity.BAD)
        or (event.kind is EventKind.SPIKE and event.severity is Severity.ATTENTION)
    ]
    told += [(alarm.place, alarm.text) for alarm in waiting]
    return tuple(
        marks.Mark(step=step, label=text, kind=marks.MarkKind.ALARM)
        for step, text in dict.fromkeys(told)
        if step is not None
    )


def _chart_mark(mark: Mark) -> marks.Mark:
    return marks.Mark(step=mark.step, label=mark.label, kind=marks.MarkKind[mark.kind.name])
