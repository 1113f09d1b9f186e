"""What became of a run since its operator saw it last, in one line; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from console import formatting
from console.view.run_view import Event, RunView, Severity

_LEAST_SECONDS = 600.0
"""Who was away for less remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an operator saw of a run, at a time."""

    t: float
    """Wall clock, seconds."""
    step: int
    attempt: int | None = None
    phase: int = 1
    ema: float | None = None
    score: float | None = None


def seen(view: RunView, now: float) -> Seen:
    """What is to be seen now."""
    scores = (audit.score for audit in reversed(view.audits) if audit.score is not None)
    return Seen(
        t=now,
        step=view.step,
        attempt=view.attempt,
        phase=view.phase,
        ema=view.last.ema if view.last is not None else None,
        score=next(scores, None),
    )


def away_words(before: Seen, view: RunView, *, n_alarms: int, now: float) -> str:
    """`away 9 h 00: +3,240 steps, 1 restart, EMA 3.21 → 3.19, score 72 → 69, nothing wrong`.

    Empty for a short time. `n_alarms`: those that nobody has acknowledged.
    """
    if now - before.t < _LEAST_SECONDS:
        return ""
    after = seen(view, now)
    n_steps = after.step - before.step
    restarts = (after.attempt or 0) - (before.attempt or after.attempt or 0)
    parts = [
        f"{n_steps:+,} step{'' if abs(n_steps) == 1 else 's'}" if n_steps else "no step",
        formatting.count(restarts, "restart") if restarts > 0 else "",
        f"phase {before.phase} → {after.phase}" if after.phase != before.phase else "",
        _change("EMA", before.ema, after.ema, 2),
        _change("score", before.score, after.score, 0),
        _wrong(view, before, n_alarms),
    ]
    told = ", ".join(part for part in parts if part)
    return f"away {formatting.duration(now - before.t)}: {told}"


def _change(name: str, before: float | None, after: float | None, digits: int) -> str:
    if before is None or after is None:
        return ""
    one, other = formatting.number(before, digits), formatting.number(after, digits)
    return f"{name} {one} → {other}" if one != other else f"{name} {other}"


def _wrong(view: RunView, before: Seen, n_alarms: int) -> str:
    bad = [event for event in view.events if _is_bad(event) and (event.t or 0.0) > before.t]
    found = [
        view.status.word if view.status.severity in (Severity.BAD, Severity.ATTENTION) else "",
        formatting.count(n_alarms, "alarm") + " (!)" if n_alarms else "",
        _kinds(bad),
    ]
    return ", ".join(each for each in found if each) or "nothing wrong"


def _kinds(events: Sequence[Event]) -> str:
    kinds = dict.fromkeys(event.kind for event in events)
    return f"{', '.join(kinds)} (e)" if kinds else ""


def _is_bad(event: Event) -> bool:
    return event.severity is Severity.BAD
