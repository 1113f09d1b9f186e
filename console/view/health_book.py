"""A run's health as it grows, and the alarms that come of it."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from console import formatting
from console.chart.series import SeriesView
from console.health.evidence import Evidence, Values, first_steps
from console.health.judge import Judge
from console.health.verdict import NOT_JUDGED, Health
from console.view.run_view import Audit, Mark, MarkKind
from trainer.rundir.config.settings import Settings

_JUDGE_SECONDS = 5.0
"""How often at most: of a young run a verdict costs some 20 ms at each record."""
_LASTS = 0.01
"""Share of the run for which an alarm outlasts its reason: a level at the threshold comes and goes
with the noise, and is no new alarm each time.
"""

_MOVES = (MarkKind.SETTINGS, MarkKind.HELD_OUT)
"""Beside a phase: marks of what may move a level at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A reason as it was told as an alarm."""

    text: str
    since_step: int
    found_at: int
    """The run's step when it was found last."""


class HealthBook:
    """Judges what has changed; keeps which reasons were told as alarms."""

    def __init__(self) -> None:
        self._judge = Judge()
        self._judged_at = -math.inf
        self._judged_from: tuple[object, ...] = ()
        self._audits: tuple[Audit, ...] = ()
        self._of_audits = _columns(())
        self._told: dict[str, _Told] = {}
        """By topic."""
        self.health: Health = NOT_JUDGED
        """The same object until it was judged anew."""
        self.alarms: Mapping[str, int] = {}
        """A `topic: text` for each series that went wrong, and the step where that began; the topic
        stays while it lasts.
        """

    @property
    def is_judged(self) -> bool:
        return self.health is not NOT_JUDGED

    def look(
        self,
        now: float,
        series: SeriesView,
        audits: tuple[Audit, ...],
        settings: Settings | None,
        marks: tuple[Mark, ...],
    ) -> None:
        """Judge what is new, at most every few seconds; `now` is monotonic, seconds."""
        told = (series, audits, settings, marks)
        is_known = self.is_judged and all(map(operator.is_, told, self._judged_from))
        if is_known or now - self._judged_at < _JUDGE_SECONDS:
            return
        self._judged_from, self._judged_at = told, now
        health = self._judge.judge(self._evidence(series, audits, settings, marks))
        dated = tuple(
            replace(each, since_t=series.time_of(each.since_step)) for each in health.reasons
        )
        self.health = replace(health, reasons=dated)
        self._raise_alarms(series)

    def _evidence(
        self,
        series: SeriesView,
        audits: tuple[Audit, ...],
        settings: Settings | None,
        marks: Sequence[Mark],
    ) -> Evidence:
        if audits is not self._audits:
            self._audits, self._of_audits = audits, _columns(audits)
        moved = (mark.step for mark in marks if mark.kind in _MOVES)
        return replace(
            self._of_audits,
            step=series.step,
            loss=series.loss,
            grad_norm=series.grad_norm,
            ms=series.ms,
            tokens=series.tokens,
            arm=series.arm,
            arms=series.arms,
            pivots=tuple(sorted({*first_steps(series.step, series.phase), *moved})),
            restarts=first_steps(series.step, series.attempt),
            max_grad_norm=settings.optimizer.max_grad_norm if settings is not None else None,
        )

    def _raise_alarms(self, series: SeriesView) -> None:
        last = int(series.step[-1]) if len(series) else 0
        span = last - int(series.step[0]) if len(series) else 0
        lasting = {
            topic: told
            for topic, told in self._told.items()
            if 0 <= last - told.found_at < _LASTS * span
        }
        found: dict[str, _Told] = {}
        for reason in self.health.reasons:
            topic = reason.series.replace(": ", " ")
            about = formatting.about_steps(reason.since_step)
            text = f"{topic}: {reason.text} since step ~{about}"
            told = _Told(text=text, since_step=reason.since_step, found_at=last)
            found.setdefault(topic, told)
        self._told = found | {topic: told for topic, told in lasting.items() if topic not in found}
        self.alarms = {told.text: told.since_step for told in self._told.values()}


def _columns(audits: Sequence[Audit]) -> Evidence:
    """What the audits tell, of a run without a record."""
    sources = dict.fromkeys(name for audit in audits for name, _ in audit.val_losses)
    by_source = [dict(audit.val_losses) for audit in audits]
    return Evidence(
        step=np.empty(0, np.int64),
        loss=np.empty(0),
        audit_step=np.array([audit.step for audit in audits], np.int64),
        score=_known([audit.score for audit in audits]),
        val_loss=_known([audit.val_loss for audit in audits]),
        val_losses={name: _known([told.get(name) for told in by_source]) for name in sources},
    )


def _known(numbers: Sequence[float | None]) -> Values:
    """With NaN for what is unknown."""
    return np.array(numbers, np.float64)
