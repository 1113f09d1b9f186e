"""What happened to a run is found in its files, each event once and where it belongs."""

import time
from dataclasses import replace

import numpy as np
import orjson
import pytest

from console.chart.series import Series, SeriesView
from console.view.events import EventBook, action_event, gate_events, last_end, mark_events
from console.view.run_view import Audit, Event, EventKind, Mark, MarkKind, Severity
from trainer.rundir.actions import log_action
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import State

BEGAN = 1_780_000_000.0


def series_of(steps: int) -> SeriesView:
    """A step every ten seconds."""
    series, step = Series(), np.arange(1, steps + 1)
    loss = np.full(steps, 3.0)
    series.append_many(step, loss, loss, t=BEGAN + 10.0 * step)
    return series.view()


def stamped(t: float, text: str) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(t))} {text}\n"


def audits_of(run_scores: list[float | None], phase: int = 1) -> list[Audit]:
    return [
        Audit(step=step, checkpoint=f"{step}", phase=phase, score=score, t=BEGAN + step)
        for step, score in zip(range(1000, 10_000, 1000), run_scores, strict=False)
    ]


def test_log_actions_and_history_are_one_list_by_time(run: RunDirectory) -> None:
    series = series_of(100)
    run.log.write_text(
        stamped(BEGAN, "starting at step 0: 12 parameters on cpu, attempt 1, phase 1")
        + stamped(BEGAN + 205, "ALARM source gone: books")
    )
    record = {"t": BEGAN + 304, "user": "ann", "host": "gpu1", "action": "thin", "ok": True}
    run.actions.write_bytes(orjson.dumps({**record, "outcome": "2 checkpoints deleted"}) + b"\n")
    marks = (Mark(step=50, kind=MarkKind.PHASE, label="phase 2: less code"),)
    events = EventBook(run).look(series, marks, (), None)
    assert [(event.kind, event.step) for event in events] == [
        (EventKind.START, 0),
        (EventKind.ALARM, 20),
        (EventKind.THINNING, 30),
        (EventKind.PIVOT, 50),
    ]
    assert events[2].text == "thin: 2 checkpoints deleted (ann@gpu1)"
    assert events[3].t == BEGAN + 500


def test_what_is_new_is_added_and_without_news_the_list_is_the_same_object(
    run: RunDirectory,
) -> None:
    series, book = series_of(100), EventBook(run)
    assert book.look(series, (), (), None) == ()
    log_action(run.actions, "launch", "trainer started (pid 12)", ok=True)
    first = book.look(series, (), (), None)
    assert [event.kind for event in first] == [EventKind.OPERATOR]
    assert book.look(series_of(101), (), (), None) is first
    with run.log.open("a") as log:
        log.write(stamped(BEGAN, "stopped: by SIGTERM"))
    assert [event.kind for event in book.look(series, (), (), None)] == [
        EventKind.END,
        EventKind.OPERATOR,
    ]


def test_a_start_that_the_log_tells_is_no_second_event_of_the_history(run: RunDirectory) -> None:
    restarts = tuple(
        Mark(step=step, kind=MarkKind.RESTART, label=f"start {attempt}")
        for attempt, step in ((2, 20), (3, 40))
    )
    run.log.write_text(
        stamped(BEGAN + 395, "resuming from step_000039.bin: 12 parameters, attempt 3, phase 1")
    )
    events = EventBook(run).look(series_of(100), restarts, (), None)
    assert [(event.kind, event.step) for event in events] == [
        (EventKind.START, 20),
        (EventKind.START, 39),
    ]


def test_marks_have_the_time_of_their_step_and_none_where_it_is_unknown() -> None:
    marks = [
        Mark(step=7, kind=MarkKind.NONFINITE, label="NaN"),
        Mark(step=900, kind=MarkKind.STALL, label="still 2 h"),
    ]
    found = list(mark_events(marks, series_of(10)))
    assert [(event.t, event.kind) for event in found] == [
        (BEGAN + 70, EventKind.NONFINITE),
        (None, EventKind.STALL),
    ]
    assert found[0].severity is Severity.BAD


def test_low_audits_in_a_row_are_one_event_and_their_end_another(run: RunDirectory) -> None:
    settings = load_settings(run.settings)
    low, high = settings.audit.threshold - 1, settings.audit.threshold + 5
    scores = [high, low, None, low, low, high, low, high]
    found = list(gate_events(audits_of(scores), settings))
    assert [(event.step, event.severity) for event in found] == [
        (4000, Severity.ATTENTION),
        (6000, Severity.OK),
    ]


def test_a_row_of_low_audits_ends_with_its_phase_and_without_a_gate_there_is_none(
    run: RunDirectory,
) -> None:
    settings = load_settings(run.settings)
    audits = audits_of([1.0]) + audits_of([1.0], phase=2)
    assert not list(gate_events(audits, settings))
    off = replace(settings, audit=replace(settings.audit, patience=0))
    assert not list(gate_events(audits_of([1.0, 1.0, 1.0]), off))


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b"{}", b'{"action": 5}', b"\xff\x00"])
def test_a_line_that_is_no_action_is_no_event(line: bytes) -> None:
    assert action_event(line) is None


def test_of_a_pivot_the_log_of_actions_tells_only_what_the_history_does_not() -> None:
    def read(action: str, *, ok: bool) -> Event | None:
        record = {"t": 1.0, "user": "a", "host": "b", "action": action, "ok": ok}
        return action_event(orjson.dumps({**record, "outcome": f"{action}: so"}))

    assert read("pivot", ok=True) is None
    failed, back = read("pivot", ok=False), read("pivot rolled back", ok=True)
    assert failed is not None
    assert failed.severity is Severity.ATTENTION
    assert back is not None
    assert back.kind is EventKind.PIVOT


def test_an_end_is_at_the_last_step_of_its_second_for_the_log_tells_whole_ones(
    run: RunDirectory,
) -> None:
    series, step = Series(), np.arange(1, 21)
    series.append_many(step, 3.0 + 0 * step, 3.0 + 0 * step, t=BEGAN + 0.21 * step)
    run.log.write_text(stamped(BEGAN + 3, "finished: all steps done"))
    (event,) = EventBook(run).look(series.view(), (), (), None)
    assert event.step == 19  # the twentieth came after that second


STOPPED = State(
    doing="stopped", t=BEGAN + 1000, step=99, reason="stopped by SIGTERM", exit_code=143
)


def test_a_stop_that_only_the_state_knows_is_an_event(run: RunDirectory) -> None:
    end = last_end(STOPPED, is_running=False)
    (event,) = EventBook(run).look(series_of(100), (), (), None, end)
    assert (event.kind, event.step, event.t) == (EventKind.END, 99, BEGAN + 1000)
    assert event.text == "stopped: by SIGTERM"


def test_a_stop_that_the_log_tells_too_is_one_event_at_the_exact_step(run: RunDirectory) -> None:
    book = EventBook(run)
    run.log.write_text(
        stamped(BEGAN, "starting at step 0: 12 parameters, attempt 1, phase 1")
        + stamped(BEGAN + 500, "stopped: by SIGTERM")
    )
    end = last_end(STOPPED, is_running=False)
    events = book.look(series_of(100), (), (), None, end)
    assert [(event.kind, event.step) for event in events] == [
        (EventKind.START, 0),
        (EventKind.END, 99),
    ]
    with run.log.open("a") as log:
        log.write(stamped(BEGAN + 600, "resuming from step_000099.bin: attempt 2"))
    kinds = [event.kind for event in book.look(series_of(100), (), (), None, end)]
    assert kinds == [EventKind.START, EventKind.END, EventKind.START, EventKind.END]


def test_a_trainer_that_vanished_is_a_crash_and_one_that_runs_is_no_end() -> None:
    killed = State(doing="sampling", t=BEGAN, step=7)
    end = last_end(killed, is_running=False)
    assert end is not None
    assert (end.kind, end.text) == (
        EventKind.CRASH,
        "failed: the trainer vanished while sampling",
    )
    assert last_end(killed, is_running=True) is None
    assert last_end(State(), is_running=False) is None


def acted(t: float, action: str) -> bytes:
    record = {"t": t, "user": "ann", "host": "gpu1", "action": action, "ok": True}
    return orjson.dumps({**record, "outcome": "trainer started (pid 7)"}) + b"\n"


def test_a_start_tells_who_or_what_caused_it(run: RunDirectory) -> None:
    run.actions.write_bytes(
        acted(BEGAN, "launch") + acted(BEGAN + 300, "restart") + acted(BEGAN + 700, "launch")
    )
    run.log.write_text(
        stamped(BEGAN + 2, "starting at step 0: on cpu, attempt 1, phase 1")
        + stamped(BEGAN + 303, "the trainer before ended without a word at step 29 (training)")
        + stamped(BEGAN + 303, "resuming from step_000020.bin: on cpu, attempt 2, phase 1")
        + stamped(BEGAN + 600, "held: at step 50 for a pivot")
        + stamped(BEGAN + 703, "resuming from step_000050.bin: on cpu, attempt 3, phase 2")
        + stamped(BEGAN + 900, "failed: out of memory at step 60")
        + stamped(BEGAN + 903, "resuming from step_000050.bin: on cpu, attempt 4, phase 2")
    )
    marks = (Mark(step=51, kind=MarkKind.PHASE, label="phase 2: less code"),)
    events = EventBook(run).look(series_of(100), marks, (), None)
    starts = [event.text.partition(": ")[0] for event in events if event.kind is EventKind.START]
    assert starts == [
        "started by ann@gpu1",
        "restarted after a crash by the console of ann@gpu1",
        "pivot to phase 2 by ann@gpu1",
        "started after a crash",
    ]
    assert EventKind.OPERATOR not in {event.kind for event in events}


def test_starts_that_only_the_history_tells_name_the_pivot_or_the_fork(run: RunDirectory) -> None:
    marks = (
        Mark(step=20, kind=MarkKind.RESTART, label="start 2"),
        Mark(step=40, kind=MarkKind.RESTART, label="start 3"),
        Mark(step=40, kind=MarkKind.PHASE, label="phase 2"),
        Mark(step=60, kind=MarkKind.SETTINGS, label="fork of v3: lr 0.001"),
    )
    run.log.write_text(stamped(BEGAN + 598, "resuming from step_000059.bin: attempt 4, phase 2"))
    events = EventBook(run).look(series_of(100), marks[:3], (), None)
    texts = [event.text for event in events if event.kind is EventKind.START]
    assert texts[:2] == ["start 2", "pivot to phase 2: start 3"]
    events = EventBook(run).look(series_of(100), marks[3:], (), None)
    (start,) = (event for event in events if event.kind is EventKind.START)
    assert start.text.startswith("fork of v3: resuming")
