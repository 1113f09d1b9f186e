"""The last hours of one share, in a few steps: kept in memory, and still while nothing changes."""

from collections import deque
from statistics import fmean

_MINUTES = 240
_GROUPS = 12
_LEVELS = 7
"""Steps above nothing, as many as a small column shows."""


class RecentHours:
    """Means of whole minutes; the minute under way is not shown, so that a spark line rests."""

    def __init__(self) -> None:
        self._minute: int | None = None
        self._shares: list[float] = []
        self._means: deque[tuple[int, float]] = deque(maxlen=_MINUTES)

    def add(self, now: float, share: float | None) -> None:
        """`now`: monotonic seconds; `share`: 0 to 1, `None` if it isn't known."""
        minute = int(now // 60)
        if minute != self._minute:
            if self._minute is not None and self._shares:
                self._means.append((self._minute, fmean(self._shares)))
            self._minute, self._shares = minute, []
        if share is not None:
            self._shares.append(share)

    def groups(self) -> tuple[float, ...]:
        """At most 13 means of equally long spans, oldest first, rounded to 7 steps; the minutes
        of a span are always the same ones, so that it changes only while it is the newest.
        """
        each = -(-len(self._means) // _GROUPS)
        spans: dict[int, list[float]] = {}
        for minute, mean in self._means:
            spans.setdefault(minute // each, []).append(mean)
        return tuple(round(fmean(means) * _LEVELS) / _LEVELS for means in spans.values())
