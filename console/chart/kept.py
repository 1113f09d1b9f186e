"""What follows from a history and costs a look at all of it, kept until there is another."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from console.chart.series import SeriesView, Values

T = TypeVar("T")


class Kept:
    """What was worked out of the view that was asked about last, and of its last window."""

    def __init__(self) -> None:
        self._view: SeriesView | None = None
        self._arrays: dict[Hashable, Values] = {}
        self._window: Hashable = None
        self._of_window: dict[Hashable, object] = {}
        self._lasting: dict[Hashable, object] = {}

    def beside(self, number: int) -> Kept:
        """The same for another history that is drawn with this one."""
        return self.lasting((Kept, number), Kept)

    def lasting(self, key: Hashable, make: Callable[[], T]) -> T:
        """`make()`, once: what stays whichever view is asked about."""
        if key not in self._lasting:
            self._lasting[key] = make()
        return cast(T, self._lasting[key])

    def of(self, view: SeriesView, key: Hashable, make: Callable[[SeriesView], Values]) -> Values:
        """`make(view)`, worked out once for each key while the view stays the same."""
        if view is not self._view:
            self._view, self._arrays, self._of_window = view, {}, {}
        if key not in self._arrays:
            self._arrays[key] = make(view)
        return self._arrays[key]

    def of_window(
        self, view: SeriesView, window: Hashable, key: Hashable, make: Callable[[], T]
    ) -> T:
        """`make()`, worked out once for each key while view and window stay the same."""
        if view is not self._view:
            self._view, self._arrays, self._of_window = view, {}, {}
        if window != self._window:
            self._window, self._of_window = window, {}
        if key not in self._of_window:
            self._of_window[key] = make()
        return cast(T, self._of_window[key])
