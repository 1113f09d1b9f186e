"""The loss history as arrays that grow, and its reduction to as many columns as a chart has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from console.chart.track import Track

Steps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Figures = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.floating] | Sequence[float | None]
_Column = npt.NDArray[Any]

UNKNOWN = -1
"""The code of what a record does not tell."""

_FIRST_CAPACITY = 1024


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class SeriesView:
    """The canonical history at one moment; all arrays have shape (n,) and are read-only.

    `step` is strictly increasing; numbers are NaN and codes are `UNKNOWN` where the record has
    none. Views are compared by identity: a series hands out the same view until it changes.
    """

    step: Steps
    loss: Values
    ema: Values
    t: Values
    """Wall clock, seconds."""
    lr: Figures
    grad_norm: Figures
    reward: Figures
    tokens: Figures
    """Of the step."""
    ms: Figures
    arm: Codes
    """Into `arms`."""
    attempt: Codes
    phase: Codes
    arms: tuple[str, ...] = ()
    """Foreign text, in the order in which the arms were first drawn."""
    drawn: Mapping[str, Figures] = field(default_factory=dict)
    """Columns that only their tracks read, by name."""

    def __len__(self) -> int:
        return len(self.step)

    def column(self, name: str) -> _Column:
        """The array of a name of `COLUMNS`."""
        found: _Column = self.drawn[name] if name in self.drawn else getattr(self, name)
        return found

    def at(self, step: int) -> int | None:
        """The index of a step's record, `None` if there is none. O(log n)."""
        index = int(np.searchsorted(self.step, step))
        return index if index < len(self) and self.step[index] == step else None

    def time_of(self, step: int) -> float | None:
        """Wall clock of a step's record, seconds; `None` if there is none, or it tells no time."""
        at = self.at(step)
        t = math.nan if at is None else float(self.t[at])
        return t if math.isfinite(t) else None

    def at_times(self, t: Sequence[float]) -> list[int]:
        """For each wall-clock time the index of the first record at or after it, of the last one
        for a time after them all; empty if no record tells its time. O(n), for clocks are set
        back at times.
        """
        told = np.fmax.accumulate(self.t)
        if not len(self) or np.isnan(told[-1]):
            return []
        found = np.searchsorted(np.nan_to_num(told, nan=-np.inf), np.asarray(t, np.float64))
        return [min(int(index), len(self) - 1) for index in found]


COLUMNS: Mapping[str, type[np.generic]] = {
    **dict.fromkeys(("loss", "ema", "t"), np.float64),
    **dict.fromkeys(("lr", "grad_norm", "reward", "tokens", "ms"), np.float32),
    **{track.value: np.float32 for track in Track if track.kind.is_plain},
    **dict.fromkeys(("arm", "attempt", "phase"), np.int32),
}
"""The arrays of a view beside `step`, by name, each with the type of its elements: a record's
field of that name.
"""
DRAWN = tuple(COLUMNS.keys() - {field.name for field in fields(SeriesView)})
"""Those of a view's `drawn`."""


class Series:
    """A growing history in which the last record of a step wins.

    A new step costs amortised O(1). A replayed step costs one copy of each column that it
    changes (0.1 ms at 200,000 records), so that views handed out before never change.
    """

    def __init__(self, names: Iterable[str] = COLUMNS) -> None:
        """`names`: the columns that are kept; the others are unknown and take no memory."""
        self._step: Steps = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._columns = {name: np.empty(_FIRST_CAPACITY, COLUMNS[name]) for name in names}
        self._size = 0
        self._codes = {"": UNKNOWN}
        self._view: SeriesView | None = None

    def __len__(self) -> int:
        return self._size

    def view(self) -> SeriesView:
        """The history as it is now; the same object until the next change."""
        if self._view is None:
            arrays = {"step": self._step, **self._columns}
            shown = {name: array[: self._size] for name, array in arrays.items()}
            for array in shown.values():
                array.flags.writeable = False
            unkept = {
                name: np.broadcast_to(kind(_unknown(kind)), self._size)
                for name, kind in COLUMNS.items()
                if name not in shown
            }
            shown |= unkept
            drawn = {name: shown.pop(name) for name in DRAWN}
            self._view = SeriesView(arms=tuple(self._codes)[1:], drawn=drawn, **shown)
        return self._view

    def codes_of(self, arms: Sequence[str]) -> Codes:
        """The codes to append for arms by name; no name is `UNKNOWN`."""
        try:
            return np.array([self._codes[name] for name in arms], np.int32)
        except KeyError:
            for name in dict.fromkeys(arms):
                self._codes.setdefault(name, len(self._codes) - 1)
        return np.array([self._codes[name] for name in arms], np.int32)

    def append_many(
        self, step: npt.ArrayLike, loss: Numbers, ema: Numbers, **others: npt.ArrayLike
    ) -> None:
        """Add records in the order of the file: sequences of one length; None is NaN.

        `others` by the names of `COLUMNS`; what is left out is unknown.
        """
        steps = np.asarray(step, dtype=np.int64)
        told: dict[str, Any] = {"loss": loss, "ema": ema, **others}
        columns = {
            name: _column(told.get(name), COLUMNS[name], len(steps)) for name in self._columns
        }
        steps, columns = _last_of_each_step(steps, columns)
        known = self._step[: self._size]
        fresh = int(np.searchsorted(steps, known[-1], side="right")) if self._size else 0
        self._replace(steps[:fresh], _picked(columns, slice(fresh)))
        self._extend(steps[fresh:], _picked(columns, slice(fresh, None)))

    def append_series(self, later: Series) -> None:
        """Add another one's records behind these."""
        view = later.view()
        codes = np.array([*self.codes_of(view.arms), UNKNOWN], np.int32)
        columns = {name: view.column(name) for name in COLUMNS} | {"arm": codes[view.arm]}
        if self._size and len(view) and view.step[0] <= self._step[self._size - 1]:
            self.append_many(view.step, **columns)
        else:  # the columns have their types already
            self._extend(view.step, columns)

    def __getstate__(self) -> dict[str, Any]:
        """Without the room for more."""
        columns = {name: column[: self._size] for name, column in self._columns.items()}
        step = self._step[: self._size]
        return {**self.__dict__, "_step": step, "_columns": columns, "_view": None}

    def _extend(self, steps: Steps, columns: Mapping[str, _Column]) -> None:
        if not len(steps):
            return
        size = self._size + len(steps)
        if size > len(self._step):
            self._grow(max(size, 2 * len(self._step)))
        self._step[self._size : size] = steps
        for name, column in columns.items():
            self._columns[name][self._size : size] = column
        self._size = size
        self._view = None

    def _grow(self, capacity: int) -> None:
        self._step = _grown(self._step[: self._size], capacity)
        for name, column in self._columns.items():
            self._columns[name] = _grown(column[: self._size], capacity)

    def _replace(self, steps: Steps, columns: Mapping[str, _Column]) -> None:
        """Overwrite steps that are there and insert those that were left out; all <= the last."""
        at = np.searchsorted(self._step[: self._size], steps)
        is_known = self._step[at] == steps
        for name, column in columns.items():
            was, now = self._columns[name], column[is_known]
            if not _is_same(was[at[is_known]], now):
                self._columns[name] = was.copy()
                self._columns[name][at[is_known]] = now
                self._view = None
        if not is_known.all():
            self._insert(at[~is_known], steps[~is_known], _picked(columns, ~is_known))

    def _insert(
        self, at: npt.NDArray[np.intp], steps: Steps, columns: Mapping[str, _Column]
    ) -> None:
        self._step = np.insert(self._step[: self._size], at, steps)
        for name, column in columns.items():
            self._columns[name] = np.insert(self._columns[name][: self._size], at, column)
        self._size = len(self._step)
        self._view = None


def _column(values: Any, kind: type[np.generic], size: int) -> _Column:
    """The values of one column; what its type can't hold is unknown, as is what is left out."""
    is_number, unknown = issubclass(kind, np.floating), _unknown(kind)
    if values is None:
        return np.full(size, unknown, kind)
    column: _Column = np.asarray(values, np.float64 if is_number else np.int64)
    assert column.shape == (size,)
    if kind is not np.float64:
        with np.errstate(over="ignore"):
            narrow = column.astype(kind)
        is_lost = np.isinf(narrow) if is_number else narrow != column
        column = np.where(is_lost, unknown, narrow).astype(kind) if is_lost.any() else narrow
    return column


def _unknown(kind: type[np.generic]) -> float | int:
    return np.nan if issubclass(kind, np.floating) else UNKNOWN


def _grown(column: _Column, capacity: int) -> _Column:
    larger = np.empty(capacity, column.dtype)
    larger[: len(column)] = column
    return larger


def _is_same(one: _Column, other: _Column) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _picked(columns: Mapping[str, _Column], at: npt.NDArray[Any] | slice) -> dict[str, _Column]:
    return {name: column[at] for name, column in columns.items()}


def _last_of_each_step(
    steps: Steps, columns: dict[str, _Column]
) -> tuple[Steps, dict[str, _Column]]:
    if (np.diff(steps) > 0).all():
        return steps, columns
    unique, from_the_end = np.unique(steps[::-1], return_index=True)
    return unique, _picked(columns, len(steps) - 1 - from_the_end)
