"""The loss history folded record by record: series, marks, newest record; pure.

What a new record costs does not depend on how many came before it.
"""

import math
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import astuple

from console import formatting
from console.chart.series import COLUMNS, UNKNOWN, Series, SeriesView
from console.view.pace import BUSY_SECONDS, STILL_SECONDS, still_seconds
from console.view.run_view import LossPoint, Mark, MarkKind
from trainer.rundir.checkpoints.thinning import nonfinite_steps
from trainer.rundir.records.loss_record import LossRecord

PACE_RECORDS = 200
"""How many of the newest records the pace is taken from."""
_FIELDS = LossRecord.__struct_fields__


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
        self._begun = self._state()

    @classmethod
    def behind(cls, records: Sequence[LossRecord]) -> "History":
        """An empty one of what follows these: for another one to take in (`join`)."""
        history = cls()
        history.add(records)
        history.series, history._marks, history.marks = Series(), {}, ()
        history.nonfinite_steps = ()
        history._begun = history._state()
        return history

    def join(self, later: "History") -> bool:
        """Take in what was folded behind this one's last records, if it is the same as if it had
        been folded here; false, and nothing done, where it can't be known to be.
        """
        if later._begun != self._state() or self._may_take_back(later):
            return False
        self.series.append_series(later.series)
        self.newest, self.recent = later.newest, later.recent
        self.attempt, self.phase = later.attempt, later.phase
        self.nonfinite_steps += later.nonfinite_steps
        self._marks |= later._marks
        self.marks = self._sorted_marks()
        self._is_last_nonfinite = later._is_last_nonfinite
        self._is_any_nonfinite |= later._is_any_nonfinite
        return True

    def _state(self) -> tuple[object, ...]:
        """What else a record's marks depend on."""
        recent, is_nonfinite = tuple(self.recent), self._is_last_nonfinite
        return recent, self.newest, self.attempt, self.phase, is_nonfinite

    def _may_take_back(self, later: "History") -> bool:
        """Whether a mark of this one may be of a step that is replayed there."""
        steps = later.series.view().step
        told = [step for step, kind in self._marks if kind is MarkKind.NONFINITE]
        return bool(told) and len(steps) > 0 and max(told) >= steps[0]

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
            self.marks = self._sorted_marks()

    def _columns(self, told: Sequence[LossRecord]) -> dict[str, npt.NDArray[Any]]:
        """By name; a column at a time, as a million records are read so."""
        fields = dict(zip(_FIELDS, zip(*map(astuple, told), strict=True), strict=True))
        columns = {"step": _numbers(fields["step"], np.int64)}
        for name, kind in COLUMNS.items():
            if name != "arm":
                columns[name] = _numbers(fields[name], kind)
        return {**columns, "arm": self.series.codes_of(fields["arm"])}

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

    def _sorted_marks(self) -> tuple[Mark, ...]:
        return tuple(sorted(self._marks.values(), key=lambda mark: mark.step))

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


def _numbers(values: Sequence[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Of the widest type of the kind; None is an unknown one.

    By way of `struct`, which takes half the time of numpy's looking at each one's type.
    """
    letter, unknown = ("d", math.nan) if issubclass(kind, np.floating) else ("q", UNKNOWN)
    try:
        return np.frombuffer(struct.pack(f"{len(values)}{letter}", *values), letter)
    except struct.error:  # one is None
        return np.array([unknown if value is None else value for value in values], letter)


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
