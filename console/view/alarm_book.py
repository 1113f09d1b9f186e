"""Alarms as an operator has them: raised once, over once, waiting until acknowledged, and known
after that as something that happened; pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from console.view.run_view import Event, EventKind, Severity

_MOST = 200
"""Alarms that are kept, the newest."""
RAISED = "ALARM "
"""How the trainer's log tells of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm from when it was raised until it is over and acknowledged."""

    topic: str
    """What it is about: its text changes while it lasts."""
    text: str
    """One line of foreign text, as it was last."""
    step: int | None
    """Where the run was when it was raised."""
    raised: float
    """Wall clock, seconds; of one that was there when a console was opened, that time."""
    since_step: int | None = None
    """Where what it warns of began, by the record: an ill of the run's health; moves a little while
    the run is young.
    """
    over: float | None = None
    over_step: int | None = None
    """Where the run was when it was over."""
    is_acknowledged: bool = False

    @property
    def place(self) -> int | None:
        """Where there is something to be seen of it."""
        return self.step if self.since_step is None else self.since_step

    @property
    def is_waiting(self) -> bool:
        """It lasts, or nobody has taken note of it."""
        return self.over is None or not self.is_acknowledged


def after_look(
    known: Sequence[Alarm],
    told: Sequence[str],
    *,
    step: int,
    now: float,
    began: Mapping[str, int],
) -> tuple[Alarm, ...]:
    """The alarms that are known once a run tells these; the same objects where nothing changed.

    `began`: where what some of them warn of did. One of these that began before the last of its
    topic was over is that one again: nothing new has gone wrong.
    """
    left = dict(zip(_topics(told), told, strict=True))
    again = {
        alarm.topic: alarm
        for alarm in known
        if _is_again(alarm, began.get(left.get(alarm.topic, "")))
    }
    alarms = []
    for alarm in known:
        is_meant = alarm.over is None or again.get(alarm.topic) is alarm
        text = left.pop(alarm.topic, None) if is_meant else None
        if text is not None:
            alarms.append(_lasting(alarm, text, began.get(text)))
        elif alarm.over is None:
            alarms.append(replace(alarm, over=now, over_step=step))
        else:
            alarms.append(alarm)
    alarms += [
        Alarm(topic=topic, text=text, step=step, raised=now, since_step=began.get(text))
        for topic, text in left.items()
    ]
    return _newest(alarms)


def _is_again(alarm: Alarm, since_step: int | None) -> bool:
    return since_step is not None and alarm.over_step is not None and since_step <= alarm.over_step


def _lasting(alarm: Alarm, text: str, since_step: int | None) -> Alarm:
    told = replace(alarm, text=text, since_step=since_step, over=None, over_step=None)
    return alarm if told == alarm else told


def acknowledged(known: Sequence[Alarm], which: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """With these taken note of."""
    names = {(alarm.topic, alarm.raised) for alarm in which}
    return _newest(
        replace(alarm, is_acknowledged=True)
        if (alarm.topic, alarm.raised) in names and not alarm.is_acknowledged
        else alarm
        for alarm in known
    )


def raised_since(events: Sequence[Event], since: float, *, now: float) -> tuple[Alarm, ...]:
    """What the trainer's log tells that came and went while no console was open."""
    alarms: dict[str, Alarm] = {}
    for event in events:
        if event.kind not in (EventKind.ALARM, EventKind.SAVE) or (event.t or 0.0) <= since:
            continue
        text = event.text.removeprefix(RAISED)
        topic = text.removeprefix("over: ").partition(": ")[0]
        raised = event.t or 0.0
        if event.severity is Severity.BAD:
            alarms[topic] = Alarm(topic=topic, text=text, step=event.step, raised=raised)
        elif topic in alarms:
            alarms[topic] = replace(alarms[topic], over=raised, over_step=event.step)
    return tuple(
        alarm if alarm.over is not None else replace(alarm, over=now) for alarm in alarms.values()
    )


def joined(known: Sequence[Alarm], found: Sequence[Alarm]) -> tuple[Alarm, ...]:
    """With those found in the log; one that lasts still has its time from there."""
    by_topic = {alarm.topic: alarm for alarm in found}
    alarms = []
    for alarm in known:
        told = by_topic.pop(alarm.topic, None) if alarm.over is None else None
        is_later = told is not None and told.raised < alarm.raised
        alarms.append(
            replace(alarm, raised=told.raised, step=told.step) if told and is_later else alarm
        )
    return _newest([*alarms, *by_topic.values()])


def waiting(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Those that last, or that nobody has taken note of."""
    return tuple(alarm for alarm in alarms if alarm.is_waiting)


def unacknowledged(alarms: Iterable[Alarm]) -> int:
    """How many wait for somebody."""
    return sum(not alarm.is_acknowledged for alarm in alarms)


def _topics(told: Sequence[str]) -> list[str]:
    """What stands before the colon, which stays while numbers change; each once."""
    topics: list[str] = []
    for text in told:
        topic, number = text.partition(": ")[0], 1
        while topic in topics:
            number += 1
            topic = f"{text.partition(': ')[0]} {number}"
        topics.append(topic)
    return topics


def _newest(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    return tuple(sorted(alarms, key=lambda alarm: alarm.raised)[-_MOST:])
