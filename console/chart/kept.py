"""Arrays that follow from a whole history, kept until there is another."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from console.chart.series import SeriesView, Values


class Kept:
    """What was worked out of the view that was asked about last."""

    def __init__(self) -> None:
        self._view: SeriesView | None = None
        self._arrays: dict[Hashable, Values] = {}

    def of(self, view: SeriesView, key: Hashable, make: Callable[[SeriesView], Values]) -> Values:
        """`make(view)`, worked out once for each key while the view stays the same."""
        if view is not self._view:
            self._view, self._arrays = view, {}
        if key not in self._arrays:
            self._arrays[key] = make(view)
        return self._arrays[key]
