"""What happened to a run is found in its files, each event once and where it belongs."""

import time
from dataclasses import replace

import numpy as np
import orjson
import pytest

from console.chart.series import Series, SeriesView
from console.view.events import EventBook, action_event, gate_events, mark_events
from console.view.run_view import Audit, Event, EventKind, Mark, MarkKind, Severity
from trainer.rundir.actions import log_action
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory

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
        (EventKind.ALARM, 21),
        (EventKind.THINNING, 31),
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
