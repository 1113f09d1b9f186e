"""What happened to a run, from what is on disk: history, audits, `actions.jsonl`, `trainer.log`."""

import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import orjson

from console import formatting
from console.chart.series import SeriesView
from console.view.log_events import log_events
from console.view.new_lines import NewLines
from console.view.run_view import Audit, Event, EventKind, Mark, MarkKind, Severity
from console.view.spike_book import SpikeBook
from console.view.start_causes import with_causes
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import after_word
from trainer.rundir.records.record_fields import number, words
from trainer.rundir.state import ENDED, State

_LOG_BYTES = 16 << 20
"""The last three weeks of a log with a line every ten seconds."""
_ACTIONS_BYTES = 1 << 20
_MOST = 5000
"""Events of log and actions that are kept, the newest."""
_LOW_AUDITS = 2
"""In a row, to be an event."""

_STAMP_SECONDS = 1.0
"""The log tells times in whole ones."""
_OF_AN_END = (EventKind.END, EventKind.CRASH, EventKind.GATE)

_ATTEMPT = re.compile(r"\battempt (\d+)")

_OF_MARK = {
    MarkKind.PHASE: (EventKind.PIVOT, Severity.OK),
    MarkKind.RESTART: (EventKind.START, Severity.OK),
    MarkKind.SETTINGS: (EventKind.FORK, Severity.OK),
    MarkKind.STALL: (EventKind.STALL, Severity.ATTENTION),
    MarkKind.NONFINITE: (EventKind.NONFINITE, Severity.BAD),
    MarkKind.HELD_OUT: (EventKind.OPERATOR, Severity.OK),
}
_OF_ACTION = {
    "thin": EventKind.THINNING,
    "pivot": EventKind.PIVOT,
    "pivot rolled back": EventKind.PIVOT,
    "fork": EventKind.FORK,
}
_TOLD_BY_MARKS = frozenset({"pivot", "fork"})
"""Actions that leave a mark on the history where they succeed."""


class EventBook:
    """Reads what is new of log and actions; the rest was read by others and is joined here."""

    def __init__(self, run: RunDirectory) -> None:
        self._actions = NewLines(run.actions, last_bytes=_ACTIONS_BYTES)
        self._log = NewLines(run.log, last_bytes=_LOG_BYTES)
        self._spikes = SpikeBook()
        self._told: deque[Event] = deque(maxlen=_MOST)
        self._joined_from: tuple[object, ...] = ()
        self.events: tuple[Event, ...] = ()
        """Oldest first; the same object until there is another."""

    def look(
        self,
        series: SeriesView,
        marks: tuple[Mark, ...],
        audits: tuple[Audit, ...],
        settings: Settings | None,
        end: Event | None = None,
    ) -> tuple[Event, ...]:
        """All events; `series` whole, for it tells where the run was at a time; `end`: the last
        trainer's, as its state tells it.
        """
        is_new = self._read(series)
        is_new |= self._spikes.look(series, marks)
        joined_from = (marks, audits, settings, end)
        if is_new or any(
            one is not other and one != other
            for one, other in zip(joined_from, self._joined_from, strict=False)
        ):
            found = [*mark_events(self._untold(marks), series)]
            found += [*gate_events(audits, settings), *self._spikes.events, *self._told]
            found.sort(key=_place)
            if (events := tuple(with_causes(_with_end(found, end, series)))) != self.events:
                self.events = events
        self._joined_from = joined_from
        return self.events

    @property
    def has_more(self) -> bool:
        """Whether some of a long history was not looked at yet."""
        return self._spikes.has_more

    def _untold(self, marks: Sequence[Mark]) -> list[Mark]:
        """Without the starts that the log tells better."""
        starts = (event.text for event in self._told if event.kind is EventKind.START)
        labels = {f"start {found[1]}" for text in starts if (found := _ATTEMPT.search(text))}
        return [m for m in marks if m.kind is not MarkKind.RESTART or m.label not in labels]

    def _read(self, series: SeriesView) -> bool:
        is_first = not self._joined_from
        acted = [
            event
            for lines in self._actions.look()
            for line in lines
            if (event := action_event(line)) is not None
        ]
        logged = [event for lines in self._log.look() for event in log_events(lines, time.mktime)]
        self._told.extend(_with_steps(acted, series))
        self._told.extend(_with_steps(logged, series, within=_STAMP_SECONDS))
        return is_first or bool(acted or logged)


def _place(event: Event) -> tuple[float, int]:
    """Those of one moment stay in the order in which they were told; those of none by step."""
    return (event.t, 0) if event.t is not None else (0.0, event.step or 0)


def _with_steps(events: Sequence[Event], series: SeriesView, *, within: float = 0.0) -> list[Event]:
    """How far the run had come at the time of each that does not tell it; a time of a log may lie
    so many seconds back.
    """
    times = [event.t + within for event in events if event.step is None and event.t is not None]
    found = iter(zip(times, series.at_times(times) if times else (), strict=False))
    return [
        event
        if event.step is not None or event.t is None or (told := next(found, None)) is None
        else replace(event, step=_step_done(series, *told))
        for event in events
    ]


def _step_done(series: SeriesView, t: float, at: int) -> int:
    """`at`: the first record from then on, or the last of all."""
    if not series.t[at] > t:
        return int(series.step[at])
    return int(series.step[at - 1]) if at else 0


def last_end(state: State | None, *, is_running: bool) -> Event | None:
    """How the last trainer ended by its state, which may be all that tells it; while one runs,
    nothing.
    """
    if state is None or is_running or not state.doing:
        return None
    text, is_bad = f"failed: the trainer vanished while {state.doing}", True
    if state.doing in ENDED:
        reason = " ".join(after_word(state.doing, state.reason).split())
        text, is_bad = f"{state.doing}: {reason}", state.doing == "failed"
    return Event(
        t=state.t or None,
        step=state.step,
        kind=EventKind.CRASH if is_bad else EventKind.END,
        text=text.removesuffix(": "),
        severity=Severity.BAD if is_bad else Severity.OK,
    )


def _with_end(found: Sequence[Event], end: Event | None, series: SeriesView) -> Sequence[Event]:
    """With the last trainer's end, or where the log tells that, too, its step, which is exact."""
    if end is None:
        return found
    starts = [at for at, event in enumerate(found) if event.kind is EventKind.START]
    for last in found[starts[-1] + 1 if starts else 0 :]:
        if last.kind in _OF_AN_END and end.text.endswith(last.text):
            ended = replace(last, step=end.step)
            return [ended if event is last else event for event in found]
    if end.t is None and len(series) and np.isfinite(series.t[-1]):
        end = replace(end, t=float(series.t[-1]))
    return sorted((*found, end), key=_place)


def mark_events(marks: Sequence[Mark], series: SeriesView) -> Iterator[Event]:
    """What the history tells; the time is that of the marked step's record."""
    for mark in marks:
        kind, severity = _OF_MARK[mark.kind]
        t = series.time_of(mark.step)
        yield Event(t=t, step=mark.step, kind=kind, text=mark.label or kind, severity=severity)


def gate_events(audits: Sequence[Audit], settings: Settings | None) -> Iterator[Event]:
    """Where the audits of a phase fell under the threshold in a row, and where that was over."""
    if settings is None or not settings.audit.patience:
        return
    threshold, warmup_steps = settings.audit.threshold, settings.optimizer.warmup_steps
    judged = (a for a in audits if a.score is not None and a.step > warmup_steps)
    for _, of_phase in groupby(judged, key=lambda audit: audit.phase):
        n_low = 0
        for audit in of_phase:
            is_low = (audit.score or 0.0) < threshold
            if is_low and n_low + 1 == _LOW_AUDITS:
                text = f"{_LOW_AUDITS} audits in a row under {threshold:g}"
                yield _of_gate(audit, f"{text}, now {formatting.score(audit.score)}")
            elif not is_low and n_low >= _LOW_AUDITS:
                text = f"score {formatting.score(audit.score)}, no more under {threshold:g}"
                yield replace(_of_gate(audit, text), severity=Severity.OK)
            n_low = n_low + 1 if is_low else 0


def _of_gate(audit: Audit, text: str) -> Event:
    kind, severity = EventKind.GATE, Severity.ATTENTION
    return Event(t=audit.t, step=audit.step, kind=kind, text=text, severity=severity)


def action_event(line: bytes) -> Event | None:
    """The event of a line of `actions.jsonl`; `None` for what the history tells itself."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict) or not (action := words(record, "action")):
        return None
    is_ok = record.get("ok") is not False
    if is_ok and action in _TOLD_BY_MARKS:
        return None
    outcome = words(record, "outcome")
    by = f"{words(record, 'user') or 'somebody'}@{words(record, 'host')}"
    said = outcome if outcome.startswith(action) else f"{action}: {outcome}"
    return Event(
        t=number(record, "t"),
        step=None,
        kind=_OF_ACTION.get(action, EventKind.OPERATOR),
        text=f"{said} ({by})",
        by=by,
        severity=Severity.OK if is_ok else Severity.ATTENTION,
    )
