"""An alarm is raised once, ends with what it warned of, and stays until acknowledged."""

from console.view.alarm_book import (
    Alarm,
    acknowledged,
    after_look,
    joined,
    raised_since,
    unacknowledged,
    waiting,
)
from console.view.alarms import Progress, alarms_of
from console.view.disk_forecast import Room
from console.view.run_view import Event, EventKind, Severity

DISK, GATE = "disk almost full: 3 GB free", "coherence gate: the last 2 audits under 30"


def told(known: tuple[Alarm, ...], *texts: str, now: float) -> tuple[Alarm, ...]:
    return after_look(known, texts, step=int(now), now=now, began={"score: falls": 7})


def test_an_alarm_keeps_when_and_where_it_was_raised_while_its_numbers_change() -> None:
    first = told((), DISK, now=10.0)
    later = told(first, "disk almost full: 2 GB free", now=20.0)
    assert later == (
        Alarm(topic="disk almost full", text="disk almost full: 2 GB free", step=10, raised=10.0),
    )
    same = told(later, "disk almost full: 2 GB free", now=30.0)
    assert same[0] is later[0]


def test_an_alarm_that_is_over_waits_until_it_is_acknowledged() -> None:
    over = told(told((), DISK, now=10.0), now=20.0)
    assert [alarm.over for alarm in over] == [20.0]
    assert told(over, now=30.0) == over
    assert unacknowledged(over) == 1
    assert waiting(acknowledged(over, over)) == ()


def test_an_acknowledged_alarm_lasts_until_it_is_over_and_then_goes() -> None:
    noted = acknowledged(first := told((), DISK, GATE, now=10.0), first[:1])
    assert [alarm.is_acknowledged for alarm in noted] == [True, False]
    assert unacknowledged(noted) == 1
    assert [alarm.topic for alarm in waiting(told(noted, now=20.0))] == ["coherence gate"]


def test_what_comes_again_is_another_alarm() -> None:
    over = told(told((), DISK, now=10.0), now=20.0)
    again = told(over, DISK, now=30.0)
    assert [(alarm.raised, alarm.over) for alarm in again] == [(10.0, 20.0), (30.0, None)]
    assert [alarm.raised for alarm in waiting(acknowledged(again, again[:1]))] == [30.0]


def test_two_alarms_of_one_topic_are_two() -> None:
    refusals = ("the next start would refuse: one", "the next start would refuse: other")
    both = told((), *refusals, now=10.0)
    assert [alarm.text for alarm in both] == list(refusals)
    assert [alarm.over for alarm in told(both, *refusals, now=20.0)] == [None, None]


def log(t: float, text: str, kind: EventKind = EventKind.ALARM) -> Event:
    severity = Severity.OK if text.startswith("over") else Severity.BAD
    return Event(t=t, step=int(t), kind=kind, text=text, severity=severity)


EVENTS = [
    log(5.0, "ALARM lock lost: before"),
    log(15.0, "ALARM source gone: books"),
    log(16.0, "failed: no memory", EventKind.CRASH),
    log(20.0, "ALARM checkpoint not saved: step 20: disk full", EventKind.SAVE),
    log(30.0, "over: checkpoint not saved", EventKind.SAVE),
]


def test_alarms_that_came_and_went_meanwhile_are_found_in_the_log() -> None:
    found = raised_since(EVENTS, 10.0, now=40.0)
    assert [(alarm.topic, alarm.step, alarm.raised, alarm.over) for alarm in found] == [
        ("source gone", 15, 15.0, 40.0),
        ("checkpoint not saved", 20, 20.0, 30.0),
    ]


def test_an_alarm_of_the_log_that_lasts_has_its_time_from_there_and_is_no_second_one() -> None:
    known = told((), "source gone: books", now=40.0)
    both = joined(known, raised_since(EVENTS, 10.0, now=40.0))
    assert [(alarm.topic, alarm.raised, alarm.over) for alarm in both] == [
        ("source gone", 15.0, None),
        ("checkpoint not saved", 20.0, 30.0),
    ]


def test_a_state_file_that_grows_older_is_one_alarm() -> None:
    known: tuple[Alarm, ...] = ()
    for minutes in (2, 3, 60):
        progress = Progress(
            step=10,
            newest_checkpoint_step=10,
            checkpoint_every=100,
            state_behind_seconds=60.0 * minutes,
            step_seconds=1.0,
        )
        texts = alarms_of(
            state=None,
            settings=None,
            last=None,
            audits=(),
            room=Room(),
            skipped=(),
            progress=progress,
        )
        assert len(texts) == 1
        known = told(known, *texts, now=float(minutes))
    assert [(alarm.raised, alarm.over) for alarm in known] == [(2.0, None)]


def test_an_alarm_that_tells_where_it_began_leads_there() -> None:
    steps = {alarm.topic: alarm.place for alarm in told((), "score: falls", "disk: full", now=90.0)}
    assert steps == {"score": 7, "disk": 90}


def test_an_ill_whose_beginning_moves_while_the_run_is_young_is_one_alarm() -> None:
    def judged(known: tuple[Alarm, ...], since: int | None, now: int) -> tuple[Alarm, ...]:
        began = {} if since is None else {f"clipping: 25% → 100% since step ~{since}": since}
        return after_look(known, list(began), step=now, now=float(now), began=began)

    first = judged((), 433, now=900)
    noted = acknowledged(first, first)
    over = judged(noted, None, now=950)
    again = judged(over, 457, now=960)
    assert [(a.raised, a.since_step, a.over, a.is_acknowledged) for a in again] == [
        (900.0, 457, None, True)
    ]
    assert again[0].text == "clipping: 25% → 100% since step ~457"
    other = judged(judged(again, None, now=1000), 1200, now=1300)
    assert [(a.raised, a.since_step) for a in other] == [(900.0, 457), (1300.0, 1200)]
