"""The loss history folded record by record: series, marks, newest record; pure.

What a new record costs does not depend on how many came before it.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from console.record_fields import nonfinite, number, step_of, whole, words
from console.run_view import LossPoint, Mark, MarkKind
from console.series import Series
from trainer.rundir.records import Record

PACE_RECORDS = 200
"""How many of the newest records the pace is taken from."""


class History:
    """Everything that follows from `.loss.json`, in the order of the file."""

    def __init__(self) -> None:
        self.series = Series()
        self.recent: deque[Record] = deque(maxlen=PACE_RECORDS)
        """The newest records, in file order."""
        self.newest: Record | None = None
        """The last record of the file that tells its step."""
        self.attempt: int | None = None
        self.phase: int | None = None
        self.marks: tuple[Mark, ...] = ()
        """By ascending step; the same object until a mark changes."""
        self._marks: dict[tuple[int, MarkKind], Mark] = {}
        self._is_marked_anew = False
        self._is_last_nonfinite = self._is_any_nonfinite = False

    def add(self, records: Sequence[Record]) -> None:
        """Fold new records; those without a step are left out."""
        steps: list[int] = []
        losses: list[float] = []
        emas: list[float] = []
        newest = self.newest
        for record in records:
            step = step_of(record)
            if step is None:
                continue
            loss, ema = number(record, "loss"), number(record, "ema")
            steps.append(step)
            losses.append(math.nan if loss is None else loss)
            emas.append(math.nan if ema is None else ema)
            newest = record
            if record.get("attempt") != self.attempt or record.get("phase") != self.phase:
                self._mark_changes(step, record)
            if loss is None or self._is_any_nonfinite:
                self._mark_nonfinite(step, loss, record)
        if steps:
            self.newest = newest
            self.recent.extend(records[-PACE_RECORDS:])
            self.series.append_many(steps, losses, emas)
        if self._is_marked_anew:
            self._is_marked_anew = False
            self.marks = tuple(sorted(self._marks.values(), key=lambda mark: mark.step))

    def _mark_changes(self, step: int, record: Record) -> None:
        attempt, phase = whole(record, "attempt"), whole(record, "phase")
        if attempt is not None:
            if self.attempt not in (None, attempt):
                self._mark(step, MarkKind.RESTART, f"start {attempt}")
            self.attempt = attempt
        if phase is not None:
            if self.phase not in (None, phase):
                self._mark(step, MarkKind.PHASE, f"phase {phase}")
            self.phase = phase

    def _mark_nonfinite(self, step: int, loss: float | None, record: Record) -> None:
        """Mark the first of a row of losses that are no numbers; a replay may take it back."""
        name = nonfinite(record, "loss") if loss is None else ""
        if name and not self._is_last_nonfinite:
            self._mark(step, MarkKind.NONFINITE, name)
            self._is_any_nonfinite = True
        elif loss is not None and (step, MarkKind.NONFINITE) in self._marks:
            del self._marks[step, MarkKind.NONFINITE]
            self._is_marked_anew = True
        self._is_last_nonfinite = bool(name)

    def _mark(self, step: int, kind: MarkKind, label: str) -> None:
        self._marks[step, kind] = Mark(step=step, kind=kind, label=label)
        self._is_marked_anew = True

    def last_point(self) -> LossPoint | None:
        """The newest record as it is shown."""
        return None if self.newest is None else loss_point(self.newest)

    def point_at(self, step: int) -> LossPoint | None:
        """The record of `step`, `None` if there is none; the newest for a step beyond them all."""
        newest, view = self.last_point(), self.series.view()
        if newest is None or step == newest.step or step > view.step[-1]:
            return newest
        at = int(np.searchsorted(view.step, step))
        if view.step[at] != step:
            return None
        return LossPoint(step=step, loss=_known(view.loss[at]), ema=_known(view.ema[at]))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def loss_point(record: dict[str, Any]) -> LossPoint:
    """A loss record; fields that are missing or of a wrong type are unknown."""
    return LossPoint(
        step=step_of(record) or 0,
        loss=number(record, "loss"),
        ema=number(record, "ema"),
        nonfinite=nonfinite(record, "loss"),
        arm=words(record, "arm"),
        lr=number(record, "lr"),
        grad_norm=number(record, "grad_norm"),
    )
