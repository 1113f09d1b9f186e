"""What follows from a column record by record: a history that only grew is gone on with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Fold = Callable[[Column, Any], tuple[Column, Any]]
"""From new values and what was carried over (`None` at the beginning) to what follows from them,
of the same length, and what to carry over; `None`: begin anew next time."""


class Grown:
    """Keeps what followed so far. A series appends in place and changes nothing before that: an
    array that lies in the same memory has the same beginning.
    """

    def __init__(self) -> None:
        self._base: Column | None = None
        self._key: Hashable = None
        self._size = 0
        self._carried: Any = None
        self._made: Column = np.empty(0)

    def of(self, values: Column, key: Hashable, fold: Fold) -> Column:
        """What `fold` makes of the values; `key` names it. Costs what is new."""
        base = values.base
        is_same = base is not None and base is self._base and key == self._key
        if not is_same or self._carried is None or len(values) < self._size:
            self._base, self._key = base, key
            self._size, self._carried, self._made = 0, None, np.empty(0)
        fresh, self._carried = fold(values[self._size :], self._carried)
        self._append(fresh)
        return self._made[: self._size]

    def _append(self, fresh: Column) -> None:
        size = self._size + len(fresh)
        if size > len(self._made):
            # What was handed out before stays as it is.
            larger = np.empty(size if not self._size else 2 * size)
            larger[: self._size] = self._made[: self._size]
            self._made = larger
        self._made[self._size : size] = fresh
        self._size = size
