"""What happened to a run by its trainer's log: the lines that tell of more than a step."""

import re
import time
from collections.abc import Callable, Iterator, Sequence

from console.view.run_view import Event, EventKind, Severity

_STAMP = "%Y-%m-%d %H:%M:%S"
_STAMP_BYTES = len("2026-06-04 22:40:00 ")
_STEP = re.compile(r"step[ _](\d[\d,]*)")
_PROVEN = re.compile(r"\b0 differing$")

_KINDS: tuple[tuple[str, EventKind, Severity], ...] = (
    ("ALARM checkpoint not saved", EventKind.SAVE, Severity.BAD),
    ("over: checkpoint not saved", EventKind.SAVE, Severity.OK),
    ("no emergency checkpoint", EventKind.SAVE, Severity.BAD),
    ("ALARM ", EventKind.ALARM, Severity.BAD),
    ("over: ", EventKind.ALARM, Severity.OK),
    ("failed: ", EventKind.CRASH, Severity.BAD),
    ("the trainer before ended without a word", EventKind.CRASH, Severity.BAD),
    ("stopped: ", EventKind.END, Severity.OK),
    ("finished: ", EventKind.END, Severity.OK),
    ("held: ", EventKind.END, Severity.OK),
    ("resuming from ", EventKind.START, Severity.OK),
    ("starting at step 0: ", EventKind.START, Severity.OK),
    ("replay of steps ", EventKind.REPLAY, Severity.ATTENTION),
    ("thinned ", EventKind.THINNING, Severity.OK),
)
"""How a line begins behind its time, the longer beginning before the shorter."""
_BEGINNING_BYTES = 4
_BEGINNINGS = frozenset(beginning[:_BEGINNING_BYTES].encode() for beginning, _, _ in _KINDS)
_OF_STEP = (EventKind.CRASH, EventKind.REPLAY, EventKind.START)
"""Whose text names the step that it happened at, or goes on from."""
_REFUSAL = b"andrea-trainer: "
"""A trainer's last words on stderr: they have no time of their own."""
_LINES_BACK = 100
"""Where the time of such words is looked for."""
_GATE = "coherence gate"


def log_events(
    lines: Sequence[bytes], to_seconds: Callable[[time.struct_time], float]
) -> Iterator[Event]:
    """The events of lines of the log, which may be many; `to_seconds`: of a local time, as
    `time.mktime`.
    """
    for index, line in enumerate(lines):
        if line[_STAMP_BYTES : _STAMP_BYTES + _BEGINNING_BYTES] in _BEGINNINGS:
            event = _stamped_event(line, to_seconds)
        elif line.startswith(_REFUSAL):
            before = lines[max(index - _LINES_BACK, 0) : index]
            event = _last_words(line, before, to_seconds)
        else:
            continue
        if event is not None:
            yield event


def _stamped_event(line: bytes, to_seconds: Callable[[time.struct_time], float]) -> Event | None:
    told, t = _text(line[_STAMP_BYTES:]), _time_of(line, to_seconds)
    kinds = ((kind, severity) for beginning, kind, severity in _KINDS if told.startswith(beginning))
    kind, severity = next(kinds, (None, Severity.OK))
    if kind is None or t is None:
        return None
    if kind is EventKind.REPLAY and _PROVEN.search(told):
        severity = Severity.OK
    step = _step_in(told) if kind in _OF_STEP else None
    return Event(t=t, step=step, kind=kind, text=told, severity=severity)


def _last_words(
    line: bytes, before: Sequence[bytes], to_seconds: Callable[[time.struct_time], float]
) -> Event | None:
    """What ended a trainer; the time is that of the last line that tells one."""
    times = (_time_of(each, to_seconds) for each in reversed(before))
    t = next((t for t in times if t is not None), None)
    text = _text(line[len(_REFUSAL) :])
    kind = EventKind.GATE if _GATE in text else EventKind.CRASH
    return None if t is None else Event(t=t, step=None, kind=kind, text=text, severity=Severity.BAD)


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").rstrip("\r")


def _time_of(line: bytes, to_seconds: Callable[[time.struct_time], float]) -> float | None:
    try:
        return to_seconds(time.strptime(_text(line[: _STAMP_BYTES - 1]), _STAMP))
    except (ValueError, OverflowError):
        return None


def _step_in(text: str) -> int | None:
    """`replay of steps 113,451 to …` has its first step there, too."""
    found = _STEP.search(text.replace("steps ", "step "))
    return int(found[1].replace(",", "")) if found else None
