"""What the trainer's log tells of more than a step; every line as the trainer writes it."""

import time

import pytest

from console.view.log_events import log_events
from console.view.run_view import Event, EventKind, Severity

LINES = {
    "ALARM checkpoint not saved: step 300: No space left on device (/r)": (
        EventKind.SAVE,
        Severity.BAD,
        None,
    ),
    "over: checkpoint not saved": (EventKind.SAVE, Severity.OK, None),
    "ALARM source gone: books; training goes on without it": (
        EventKind.ALARM,
        Severity.BAD,
        None,
    ),
    "over: lock lost": (EventKind.ALARM, Severity.OK, None),
    "failed: RuntimeError: no memory": (EventKind.CRASH, Severity.BAD, None),
    "the trainer before ended without a word at step 1,234 (training)": (
        EventKind.CRASH,
        Severity.BAD,
        1234,
    ),
    "stopped: by SIGTERM": (EventKind.END, Severity.OK, None),
    "resuming from step_000100.bin: 12 parameters on cpu in fp32, attempt 3, phase 1": (
        EventKind.START,
        Severity.OK,
        100,
    ),
    "starting at step 0: 12 parameters on cpu in fp32, attempt 1, phase 1": (
        EventKind.START,
        Severity.OK,
        0,
    ),
    "replay of steps 101 to 120: 20 proven, 0 differing": (EventKind.REPLAY, Severity.OK, 101),
    "replay of steps 101 to 120: 10 proven, 10 differing": (
        EventKind.REPLAY,
        Severity.ATTENTION,
        101,
    ),
    "thinned step_000100.bin: 1,234 bytes": (EventKind.THINNING, Severity.OK, None),
}


def read(*lines: str) -> list[Event]:
    return list(log_events([line.encode() for line in lines], time.mktime))


@pytest.mark.parametrize("text", LINES)
def test_a_line_that_tells_of_an_event_is_one_with_its_time(text: str) -> None:
    kind, severity, step = LINES[text]
    t = time.mktime(time.strptime("2026-06-04 22:40:01", "%Y-%m-%d %H:%M:%S"))
    assert read(f"2026-06-04 22:40:01 {text}") == [
        Event(t=t, step=step, kind=kind, text=text, severity=severity)
    ]


def test_the_reason_that_a_trainer_ends_with_has_the_time_of_the_line_before() -> None:
    events = read(
        "2026-06-04 22:40:01 step 12: loss 3.1",
        "some library said so",
        "andrea-trainer: the loss is NaN at step 13",
        "andrea-trainer: coherence gate: five audits under 30",
    )
    assert [event.kind for event in events] == [EventKind.CRASH, EventKind.GATE]
    assert events[0].text == "the loss is NaN at step 13"
    assert events[0].t == events[1].t is not None


def test_all_other_lines_are_none() -> None:
    assert (
        read(
            "andrea-trainer: before any line with a time",
            "2026-06-04 22:40:01 step 12: loss 3.1",
            "2026-06-04 22:40:01 audit of step 100: score 31.0, val_loss 3.2",
            "2026-99-04 22:40:01 stopped: by SIGTERM",
            "ALARM without a time",
            "",
        )
        == []
    )
