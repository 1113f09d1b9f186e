"""The verdict over a run's record: what is wrong, since when, and the cause first.

Linear in the record at first; after that in what is new. It holds no clock, no file and no
random number: the same record has the same verdict, however it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from console.health.audit_rules import GAP, audited, held_out, memorised, score
from console.health.evidence import Evidence, Floats, Integers, Values
from console.health.losses import divergence, nothing_learned, plateau, sources
from console.health.pace_rules import clipping, step_time
from console.health.pooled import Pool
from console.health.record_curves import RecordCurves, curves_of, grown_by, measured
from console.health.series_lines import series_lines
from console.health.spike import spike
from console.health.verdict import UNKNOWN, Health, Kind, Reason, SeriesLine, Verdict

FEWEST_RECORDS = 200
FEWEST_AUDITS = 8
_RANK: dict[Kind, int] = {
    "nothing learned": 0,
    "source": 1,
    "spike": 0,
    "divergence": 1,
    "step time": 1,
    "plateau": 2,
    "memorising": 2,
    "val_loss": 2,
    "clipping": 3,
    "score": 4,
}
"""What causes another has the lower one."""
_SHOWN_BY_LOSS = ("divergence", "nothing learned", "source")
_SLACK = 0.04
"""Share of the run by which the beginning of a consequence may seem to lie too early, a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bulk:
    """All but what the newest records alone tell; the same while `key` is."""

    key: object
    reasons: list[Reason]
    memorised: Mapping[str, Reason]
    lines: tuple[SeriesLine, ...]


def judge(evidence: Evidence) -> Health:
    """The verdict from scratch."""
    return Judge().judge(evidence)


class Judge:
    """Judges a run again and again as it grows; each verdict is the one from scratch."""

    def __init__(self) -> None:
        self._evidence: Evidence | None = None
        self._curves: RecordCurves | None = None
        self._bulk: _Bulk | None = None

    def judge(self, evidence: Evidence) -> Health:
        """`evidence` is all of the run; what is as it was the last time is not read again."""
        if not len(evidence):
            return UNKNOWN
        with np.errstate(all="ignore"):
            curves = self._grown(evidence)
            key = (curves.bins(), evidence.pivots, _told_by_audits(evidence))
            if self._bulk is None or self._bulk.key != key:
                self._bulk = _bulk_of(evidence, curves, key)
            reasons, lines = self._bulk.reasons, self._bulk.lines
            newest = list(_newest(evidence, reasons))
            if newest:
                lines = series_lines(evidence, curves, [*reasons, *newest])
            health = _health(evidence, [*reasons, *newest], lines)
            return replace(health, memorised=self._bulk.memorised)

    def _grown(self, evidence: Evidence) -> RecordCurves:
        known, curves = self._evidence, self._curves
        if known is None or curves is None or not is_continued(known, evidence):
            curves, self._bulk = curves_of(evidence), None
        elif len(evidence) > len(known):
            curves = grown_by(curves, evidence)
        self._evidence, self._curves = evidence, curves
        return curves


def is_continued(known: Evidence, evidence: Evidence) -> bool:
    """Whether all records of `known` are in `evidence` as they were, and come first."""
    n_known = len(known)
    if len(evidence) < n_known or known.max_grad_norm != evidence.max_grad_norm:
        return False
    last = known.step[-1]
    if known.arms != evidence.arms[: len(known.arms)]:
        return False
    if known.restarts != tuple(r for r in evidence.restarts if r <= last):
        return False
    columns = ("step", "loss", "grad_norm", "ms", "tokens", "arm")
    return all(_begins(getattr(evidence, name), getattr(known, name)) for name in columns)


def _begins(longer: Floats | Integers, shorter: Floats | Integers) -> bool:
    start = longer[: len(shorter)]
    if start.ctypes.data == shorter.ctypes.data and start.strides == shorter.strides:
        return len(start) == len(shorter)  # an array that grows in place: views never change
    return np.array_equal(start, shorter, equal_nan=shorter.dtype.kind == "f")


def _told_by_audits(evidence: Evidence) -> tuple[object, ...]:
    columns = [evidence.audit_step, evidence.score, evidence.val_loss]
    by_source = [(name, values.tobytes()) for name, values in evidence.val_losses.items()]
    return (*(column.tobytes() for column in columns), *by_source)


def _bulk_of(evidence: Evidence, curves: RecordCurves, key: object) -> _Bulk:
    pool = Pool(curves.loss.middle, curves.arms, evidence.pivots)
    reasons = list(_reasons(evidence, curves, pool))
    has_audits = len(evidence.audit_step) >= FEWEST_AUDITS
    return _Bulk(
        key=key,
        reasons=reasons,
        memorised=dict(memorised(evidence, pool)) if has_audits else {},
        lines=series_lines(evidence, curves, reasons),
    )


def _reasons(evidence: Evidence, curves: RecordCurves, pool: Pool) -> Iterator[Reason]:
    loss = curves.loss
    if len(loss) * loss.width >= FEWEST_RECORDS // 2:
        nothing = nothing_learned(loss, pool, _first_losses(evidence))
        ill = {} if nothing else dict(sources(pool))
        yield from ill.values()
        learning = (
            nothing
            or divergence(loss, pool, tuple(ill))
            or plateau(loss, pool, tuple(ill), audited(evidence, evidence.val_loss))
        )
        yield from _those(learning, step_time(curves), clipping(curves))
    if len(evidence.audit_step) >= FEWEST_AUDITS:
        yield from held_out(evidence, loss, pool)
        yield from _those(score(evidence))


def _first_losses(evidence: Evidence) -> Values:
    first = measured(evidence.loss[:64])
    return first[np.isfinite(first)][:20]


def _newest(evidence: Evidence, reasons: Iterable[Reason]) -> Iterator[Reason]:
    if len(evidence) < FEWEST_RECORDS or (found := spike(evidence)) is None:
        return
    began = found.since_step - _SLACK * float(evidence.step[-1] - evidence.step[0])
    if not any(r.since_step < began for r in reasons if r.kind in _SHOWN_BY_LOSS):
        yield found


def _those(*reasons: Reason | None) -> Iterator[Reason]:
    return (reason for reason in reasons if reason is not None)


def _health(evidence: Evidence, reasons: list[Reason], lines: tuple[SeriesLine, ...]) -> Health:
    n_records, n_audits = int(np.isfinite(evidence.loss).sum()), len(evidence.audit_step)
    why = ""
    if n_records < FEWEST_RECORDS:
        reasons, why = [], f"{n_records} of {FEWEST_RECORDS} records"
    elif n_audits < FEWEST_AUDITS:
        why = f"{n_audits} of {FEWEST_AUDITS} audits"
    reasons = _cause_first(reasons, _SLACK * float(evidence.step[-1] - evidence.step[0]))
    verdict: Verdict = "ill" if reasons else "unknown" if why else "healthy"
    return Health(verdict=verdict, reasons=tuple(reasons), lines=lines, why_unknown=why)


def _cause_first(reasons: list[Reason], slack: float) -> list[Reason]:
    """By their beginning, where a cause counts as earlier; val_loss that has risen with the
    training loss, so that no gap has opened, comes after it however it is dated.
    """
    diverged = [r.since_step for r in reasons if r.kind in _SHOWN_BY_LOSS]

    def place(reason: Reason) -> float:
        is_shared = reason.kind == "val_loss" and reason.series != GAP and not reason.is_apart
        began = max([reason.since_step, *diverged]) if is_shared else reason.since_step
        return began + slack * _RANK[reason.kind]

    return sorted(reasons, key=place)
