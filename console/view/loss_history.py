"""The loss history folded record by record: series, marks, newest record; pure.

What a new record costs does not depend on how many came before it.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from console import formatting
from console.chart.series import COLUMNS, UNKNOWN, Series, SeriesView
from console.view.pace import BUSY_SECONDS, STILL_SECONDS, still_seconds
from console.view.run_view import LossPoint, Mark, MarkKind
from trainer.rundir.checkpoints.thinning import nonfinite_steps
from trainer.rundir.records.loss_record import LossRecord

PACE_RECORDS = 200
"""How many of the newest records the pace is taken from."""
_GETTERS = tuple(
    (name, attrgetter(name)) for name, kind in COLUMNS.items() if issubclass(kind, np.floating)
)


class History:
    """Everything that follows from `.loss.json`, in the order of the file."""

    def __init__(self) -> None:
        self.series = Series()
        self.recent: deque[LossRecord] = deque(maxlen=PACE_RECORDS)
        """The newest records, in file order."""
        self.newest: LossRecord | None = None
        """The last record of the file that tells its step."""
        self.attempt: int | None = None
        self.phase: int | None = None
        self.marks: tuple[Mark, ...] = ()
        """By ascending step; the same object until a mark changes."""
        self.nonfinite_steps: tuple[int, ...] = ()
        """Steps at which the run has stopped; the same object until there is one more."""
        self._marks: dict[tuple[int, MarkKind], Mark] = {}
        self._is_marked_anew = False
        self._is_last_nonfinite = self._is_any_nonfinite = False

    def add(self, records: Sequence[LossRecord]) -> None:
        """Fold new records; those without a step are left out."""
        told = [record for record in records if record.step is not None]
        if not told:
            return
        columns = self._columns(told)
        is_worth = _worth_a_look(columns)
        has_nonfinite = self._is_any_nonfinite or np.isnan(columns["loss"]).any()
        for index in range(len(told)) if has_nonfinite else np.flatnonzero(is_worth).tolist():
            if is_worth[index]:
                self._look_at(index, told)
            self._mark_nonfinite(told[index])
        unknown = np.isnan(columns["loss"]) | np.isnan(columns["grad_norm"])
        stopped = nonfinite_steps(told[index] for index in np.flatnonzero(unknown).tolist())
        self.nonfinite_steps += tuple(stopped)
        self.newest = told[-1]
        self.recent.extend(told[-PACE_RECORDS:])
        self.series.append_many(**columns)
        if self._is_marked_anew:
            self._is_marked_anew = False
            self.marks = tuple(sorted(self._marks.values(), key=lambda mark: mark.step))

    def _columns(self, told: Sequence[LossRecord]) -> dict[str, npt.NDArray[Any]]:
        """By name; a column at a time, as a million records are read so."""
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.array([*map(get, told)], np.float64) for name, get in _GETTERS
        }
        columns["step"] = np.array([record.step for record in told])
        columns["arm"] = self.series.codes_of([record.arm for record in told])
        for name in ("attempt", "phase"):
            codes = map(attrgetter(name), told)
            columns[name] = np.array([UNKNOWN if code is None else code for code in codes])
        return columns

    def _look_at(self, index: int, told: Sequence[LossRecord]) -> None:
        record, step = told[index], told[index].step or 0
        before = told[index - 1] if index else self.newest
        if record.attempt != self.attempt or record.phase != self.phase:
            self._mark_changes(step, record)
        if before is not None:
            self._mark_stall(step, record, before, told[: index + 1])

    def _mark_changes(self, step: int, record: LossRecord) -> None:
        if record.attempt is not None:
            if self.attempt not in (None, record.attempt):
                self._mark(step, MarkKind.RESTART, f"start {record.attempt}")
            self.attempt = record.attempt
        if record.phase is not None:
            if self.phase not in (None, record.phase):
                self._mark(step, MarkKind.PHASE, f"phase {record.phase}")
            self.phase = record.phase

    def _mark_stall(
        self, step: int, record: LossRecord, before: LossRecord, told: Sequence[LossRecord]
    ) -> None:
        """An event that is over leaves its mark: when the run stood still, and for how long."""
        recent = (*self.recent, *told)[-PACE_RECORDS - 1 : -1]
        if seconds := still_seconds(record, before, recent):
            since = "" if record.t is None else f", {formatting.moment(record.t - seconds)}"
            self._mark(step, MarkKind.STALL, f"still {formatting.duration(seconds)}{since}")

    def _mark_nonfinite(self, record: LossRecord) -> None:
        """Mark the first of a row of losses that are no numbers; a replay may take it back."""
        step = record.step or 0
        name = record.nonfinite_of("loss") if record.loss is None else ""
        if name and not self._is_last_nonfinite:
            self._mark(step, MarkKind.NONFINITE, name)
            self._is_any_nonfinite = True
        elif record.loss is not None and (step, MarkKind.NONFINITE) in self._marks:
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
        return point_of(view, step)


def point_of(view: SeriesView, step: int) -> LossPoint | None:
    """The record of `step` as it is shown, `None` if there is none."""
    at = view.at(step)
    if at is None:
        return None
    return LossPoint(
        step=step,
        loss=_known(view.loss[at]),
        ema=_known(view.ema[at]),
    )


def _worth_a_look(columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """The records with which the run may have changed or stood still; shape (n,)."""
    is_worth: npt.NDArray[np.bool_] = columns["ms"] > STILL_SECONDS * 1000
    is_worth[0] = True
    is_worth[1:] |= np.diff(columns["t"]) > BUSY_SECONDS
    for name in ("attempt", "phase"):
        is_worth[1:] |= np.diff(columns[name]) != 0
    return is_worth


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def loss_point(record: LossRecord) -> LossPoint:
    """A record as it is shown."""
    return LossPoint(
        step=record.step or 0,
        loss=record.loss,
        ema=record.ema,
        nonfinite=record.nonfinite_of("loss"),
    )
