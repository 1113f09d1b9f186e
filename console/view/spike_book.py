"""Spikes of the loss that came back, as events; some of a long history at each look."""

import numpy as np

from console import formatting
from console.chart.series import SeriesView
from console.health.past_spikes import BLOCK, Losses, PastSpike, spike_in
from console.view.run_view import Event, EventKind, Mark, MarkKind, Severity

_BLOCKS_A_LOOK = 100
"""Some 50 ms of looking."""
_FIRST = 200
"""Records of a run that has only begun."""
_MOVES = (MarkKind.PHASE, MarkKind.SETTINGS)


class SpikeBook:
    """Looks at each block of records once, when it is whole."""

    def __init__(self) -> None:
        self._next = _FIRST
        """Index of the first record that was not looked at."""
        self._step_before: int | None = None
        """Of the record before that: in a history made anew it is another's."""
        self.events: tuple[Event, ...] = ()
        self.has_more = False
        """Whether there are blocks that the last look had no time for."""

    def look(self, series: SeriesView, marks: tuple[Mark, ...]) -> bool:
        """Whether there is an event more."""
        n_known = len(self.events)
        if self._step_before is not None and not self._is_continued(series):
            self._next, self._step_before, self.events, n_known = _FIRST, None, (), -1
        edges = [
            int(np.searchsorted(series.step, mark.step)) for mark in marks if mark.kind in _MOVES
        ]
        self.has_more = True
        for _ in range(_BLOCKS_A_LOOK):
            start = max((edge for edge in edges if edge <= self._next), default=0)
            stop = min((edge for edge in edges if edge > self._next), default=len(series))
            is_whole = stop < len(series) or stop - self._next >= BLOCK
            if self._next >= stop or not is_whole or not self._look_at_block(series, start, stop):
                self.has_more = False
                break
        if self._next > _FIRST:
            self._step_before = int(series.step[self._next - 1])
        return len(self.events) != n_known

    def _look_at_block(self, series: SeriesView, start: int, stop: int) -> bool:
        """Whether all is known of it: of a spike that is not over the end is waited for."""
        part = slice(start, stop)
        losses = Losses(loss=series.loss[part], ema=series.ema[part], arm=series.arm[part])
        found = spike_in(losses, self._next - start)
        if isinstance(found, int):
            if stop == len(series):
                return False
            found = None
        if found is None:
            self._next = min(self._next + BLOCK, stop)
            return True
        self.events += tuple(_events(found, series, start))
        self._next = start + found.end
        return True

    def _is_continued(self, series: SeriesView) -> bool:
        is_there = self._next <= len(series)
        return is_there and int(series.step[self._next - 1]) == self._step_before


def _events(found: PastSpike, series: SeriesView, start: int) -> list[Event]:
    """Its beginning and its end."""
    height = f"{formatting.number(found.usual, 2)} → {formatting.number(found.top, 2)}"
    n_steps = formatting.count(found.end - found.begin, "step")
    begin = _event(series, start + found.begin, f"loss shot up {height}, back after {n_steps}")
    return [begin, _event(series, start + found.end, "over: loss is back")]


def _event(series: SeriesView, at: int, text: str) -> Event:
    t = float(series.t[at])
    is_over = text.startswith("over")
    return Event(
        t=t if np.isfinite(t) else None,
        step=int(series.step[at]),
        kind=EventKind.SPIKE,
        text=text,
        severity=Severity.OK if is_over else Severity.ATTENTION,
    )
