"""What an operator types to go somewhere in a run, as the step that it means; pure."""

import re
import time
from collections.abc import Callable, Sequence

import numpy as np

from console import formatting
from console.chart.series import SeriesView
from console.view.run_view import Audit

TAKES = (
    "a step, -3d, 2026-06-04 22:40, 22:40, phase 3, start 2, first, last, best, best score, spike"
)
"""What is understood, for a person."""

_UNIT_SECONDS = {"w": 7 * 86_400, "d": 86_400, "h": 3600, "m": 60, "min": 60, "s": 1}
_BACK = re.compile(r"-\s*(\d{1,9}(?:\.\d+)?)\s*(w|d|h|min|m|s)")
_STEP = re.compile(r"(?:step\s+)?(\d{1,12}(?:\.\d+)?)\s*([km]?)")
_NUMBERED = re.compile(r"(phase|start|attempt)\s*(\d{1,9})")
_TIME = re.compile(r"(?:(\d{4}-\d{1,2}-\d{1,2})[ t]*)?(\d{1,2}:\d{2})?(?::\d{2})?")
_LEAST_SPIKE = 8.0
"""In robust standard deviations of how far losses lie from their EMA."""
_DEVIATIONS = 1.4826
"""Of a normal distribution, to one median of absolute deviations."""


class GoToError(ValueError):
    """What was typed leads nowhere; the message is for the operator."""


def step_meant(
    typed: str,
    series: SeriesView,
    audits: Sequence[Audit],
    *,
    now: float,
    to_seconds: Callable[[time.struct_time], float] = time.mktime,
) -> int:
    """The recorded step that is meant; a time is of the operator's zone by `to_seconds`.

    Raises `GoToError` with what is wrong, or what would be understood.
    """
    if not len(series):
        raise GoToError("nothing is recorded yet")
    words = " ".join(typed.lower().replace(",", "").replace("_", "").split())
    named = {"first": lambda: int(series.step[0]), "last": lambda: int(series.step[-1])}
    named |= {"best": lambda: _best(audits), "best score": lambda: _best_score(audits)}
    named |= {"spike": lambda: _spike(series)}
    if words in named:
        return named[words]()
    if found := _NUMBERED.fullmatch(words):
        return _first_of(series, found[1], int(found[2]))
    if found := _STEP.fullmatch(words):
        return _nearest(series, float(found[1]) * {"k": 1e3, "m": 1e6}.get(found[2], 1))
    if (t := _time_in(words, now, to_seconds)) is not None:
        return _at_time(series, t)
    raise GoToError(f"{typed.strip() or 'nothing'}? It takes {TAKES}")


def time_meant(
    typed: str, *, now: float, to_seconds: Callable[[time.struct_time], float] = time.mktime
) -> float:
    """The moment that is meant, wall clock seconds; raises `GoToError`."""
    t = _time_in(" ".join(typed.lower().split()), now, to_seconds)
    if t is None:
        raise GoToError(f"{typed.strip() or 'nothing'}? It takes -3h, 22:40, 2026-06-04 22:40")
    return t


def _time_in(
    words: str, now: float, to_seconds: Callable[[time.struct_time], float]
) -> float | None:
    if found := _BACK.fullmatch(words):
        return now - float(found[1]) * _UNIT_SECONDS[found[2]]
    if words and (found := _TIME.fullmatch(words)):
        return _seconds(found[1], found[2], now, to_seconds)
    return None


def _nearest(series: SeriesView, step: float) -> int:
    first, last = int(series.step[0]), int(series.step[-1])
    if not first <= step <= last:
        span = f"from {formatting.steps(first)} to {formatting.steps(last)}"
        if step == 0:
            return first
        told = formatting.steps(int(step))
        raise GoToError(f"step {told} is not recorded: the history goes {span}")
    after = int(np.searchsorted(series.step, step))
    nearest = series.step[max(after - 1, 0) : after + 1]
    return int(nearest[np.argmin(np.abs(nearest - step))])


def _at_time(series: SeriesView, t: float) -> int:
    found = series.at_times([t])
    if not found:
        raise GoToError("the history tells no times")
    known = series.t[~np.isnan(series.t)]
    first, last = float(known[0]), float(known.max())
    if not first - 60 <= t <= last:
        span = f"from {formatting.moment(first)} to {formatting.moment(last)}"
        raise GoToError(f"nothing was recorded at {formatting.moment(t)}: the history goes {span}")
    return int(series.step[found[0]])


def _seconds(
    day: str | None,
    clock: str | None,
    now: float,
    to_seconds: Callable[[time.struct_time], float],
) -> float:
    """A clock without a day is its last time before now."""
    told = f"{day or time.strftime('%Y-%m-%d', time.localtime(now))} {clock or '00:00'}"
    try:
        t = to_seconds(time.strptime(told, "%Y-%m-%d %H:%M"))
    except (ValueError, OverflowError):
        raise GoToError(f"{told} is no time: write 2026-06-04 22:40, or 22:40") from None
    return t if day or t <= now else t - _UNIT_SECONDS["d"]


def _first_of(series: SeriesView, what: str, number: int) -> int:
    codes = series.phase if what == "phase" else series.attempt
    found = np.flatnonzero(codes == number)
    if not len(found):
        known = ", ".join(str(code) for code in np.unique(codes) if code >= 0)
        raise GoToError(f"no step of {what} {number} is recorded; there is {known or 'none'}")
    return int(series.step[found[0]])


def _best(audits: Sequence[Audit]) -> int:
    """By held-out loss, which no repetition of a text can lower, on the rows that the newest is
    of; by score where none is told.
    """
    told = [audit for audit in audits if audit.val_loss is not None]
    of_newest = [audit for audit in told if audit.held_out_rows == told[-1].held_out_rows]
    losses = [(audit.val_loss, audit.step) for audit in of_newest]
    return min(losses)[1] if losses else _best_score(audits)


def _best_score(audits: Sequence[Audit]) -> int:
    scores = [(audit.score, audit.step) for audit in audits if audit.score is not None]
    if not scores:
        raise GoToError("no audit has been made yet")
    return max(scores)[1]


def _spike(series: SeriesView) -> int:
    """Where the loss rose highest over the EMA of the step before, for what is usual."""
    above = series.loss[1:] - series.ema[:-1]
    known = above[np.isfinite(above)]
    if len(known) < 3:
        raise GoToError("no spike: too few losses are recorded")
    middle = np.median(known)
    deviation = _DEVIATIONS * float(np.median(np.abs(known - middle)))
    at = int(np.nanargmax(np.where(np.isfinite(above), above, np.nan)))
    if above[at] - middle <= _LEAST_SPIKE * deviation:
        raise GoToError("no spike: no loss stands out from those before it")
    return int(series.step[at + 1])
