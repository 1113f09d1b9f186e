"""Alarms as an operator has them: raised once, over once, there until acknowledged; pure."""

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
    """Where what it warns of began, or else where the run was when it was raised."""
    raised: float
    """Wall clock, seconds; of one that was there when a console was opened, that time."""
    over: float | None = None
    is_acknowledged: bool = False


def after_look(
    known: Sequence[Alarm],
    told: Sequence[str],
    *,
    step: int,
    now: float,
    began: Mapping[str, int],
) -> tuple[Alarm, ...]:
    """The alarms that are known once a run tells these; the same objects where nothing changed.

    `began`: where what some of them warn of did.
    """
    left = dict(zip(_topics(told), told, strict=True))
    alarms = []
    for alarm in known:
        text = left.pop(alarm.topic, None) if alarm.over is None else None
        if text is not None:
            alarms.append(alarm if text == alarm.text else replace(alarm, text=text))
        elif alarm.over is None:
            alarms.append(replace(alarm, over=now))
        else:
            alarms.append(alarm)
    alarms += [
        Alarm(topic=topic, text=text, step=began.get(text, step), raised=now)
        for topic, text in left.items()
    ]
    return _wanted(alarms)


def acknowledged(known: Sequence[Alarm], which: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """With these taken note of; one that is over needs nobody any more."""
    names = {(alarm.topic, alarm.raised) for alarm in which}
    return _wanted(
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
            alarms[topic] = replace(alarms[topic], over=raised)
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
    return _wanted([*alarms, *by_topic.values()])


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


def _wanted(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    waiting = [a for a in alarms if a.over is None or not a.is_acknowledged]
    return tuple(sorted(waiting, key=lambda alarm: alarm.raised)[-_MOST:])
