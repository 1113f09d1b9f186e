"""What a rule asks of a series, and the reason that it gives where the series went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.chart.quantiles import median
from console.health.evidence import Values
from console.health.levels import rise_of
from console.health.onset import onset
from console.health.verdict import Kind, Reason

Words = Callable[[float, float], str]
"""Past and now as a person reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """By how much a series has to be worse at its end than at its best; larger is worse."""

    kind: Kind
    effect: float
    """That matters to a person, in the series' unit."""
    sigmas: float
    """Standard errors that the effect has to be, too."""
    may_fall: bool = True
    """Learning lowers the series; else it is flat while it is well."""
    skipped: float = 0.05
    """Share of the run's start that is no past to be compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A series of b bins."""

    name: str
    first: Values
    """(b,) first step of each bin."""
    middle: Values
    values: Values
    """As many as could be told, from the first on: what is judged."""
    shown: Values
    """(b,) what is told of it: with its jumps, or a score that is worse when it falls."""
    least_error: float = 1e-9
    """A single bin's, where its values can't be counted on to show it."""


def risen(rule: Rule, series: Judged, words: Words) -> Reason | None:
    """A reason, if the series ends above its best level; `words` of past and now make its text."""
    values = series.values
    found = rise_of(
        values,
        effect=rule.effect,
        sigmas=rule.sigmas,
        skipped=rule.skipped,
        least_error=series.least_error,
    )
    if found is None:
        return None
    since = onset(series.middle[: len(values)], values, found, may_fall=rule.may_fall)
    past, now = told_levels(series.shown[: len(values)], since)
    return Reason(
        kind=rule.kind,
        series=series.name,
        since_step=int(series.first[since]),
        past=past,
        now=now,
        text=words(past, now),
        sigmas=found.sigmas,
    )


def told_levels(values: Values, since: int) -> tuple[float, float]:
    """Just before bin `since`, and at the end."""
    n_last = max(1, min(8, (len(values) - since) // 2))
    before = values[max(0, since - 16) : since]
    return median(before if len(before) else values), median(values[-n_last:])


def change_of(name: str) -> Words:
    """`loss of wiki 2.41 → 3.02`."""
    return lambda past, now: f"{name} {past:.2f} → {now:.2f}"
