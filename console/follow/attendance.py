"""One operator at one run: each look at it, what was seen before, which alarms are waiting."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from console.chart.series import SeriesView
from console.follow.follower import Clock
from console.follow.operator_file import Remembered, read_memory, write_memory
from console.view.alarm_book import (
    Alarm,
    acknowledged,
    after_look,
    joined,
    raised_since,
    unacknowledged,
    waiting,
)
from console.view.alarm_events import with_alarms
from console.view.away import away_words, seen
from console.view.glance import Follower, Glance
from console.view.machine import Machine
from console.view.run_view import Event, RunView

_KEEP_SECONDS = 60.0
"""How often what was seen is written down."""


class Attendance:
    """Looks, and remembers; a look and an acknowledgement may come from different threads."""

    def __init__(
        self, follower: Follower, memory: Path | None = None, *, clock: Clock | None = None
    ) -> None:
        """`memory`: where it is kept; `None`: only as long as the console is open."""
        self._follower = follower
        self._memory = memory
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._remembered: Remembered | None = None
        self._before: Remembered | None = None
        """What the console before left, until it was told."""
        self._kept_at = self._clock.monotonic()
        self._away = ""
        self._events: tuple[Event, ...] = ()
        self._joined_from: tuple[tuple[Event, ...], tuple[Alarm, ...]] = ((), ())
        self.problem = ""
        """Why nothing can be written down; empty where it can."""

    def look(self) -> Glance:
        """The run at this moment, for this operator."""
        view = self._follower.look()
        series = self._follower.series.view()
        with self._lock:
            remembered = self._remember(view, series)
            return Glance(
                view,
                series,
                alarms=waiting(remembered.alarms),
                away=self._away,
                events=self._events_of(view, remembered.alarms, series),
                sources=self._follower.sources,
            )

    def look_at_machine(self) -> Machine:
        """The machine's load at this moment."""
        return self._follower.look_at_machine()

    def acknowledge(self, alarms: Sequence[Alarm]) -> None:
        """Take note of these, and write it down."""
        with self._lock:
            if self._remembered is not None:
                known = acknowledged(self._remembered.alarms, alarms)
                self._remembered = replace(self._remembered, alarms=known)
                self._keep()

    def leave(self) -> None:
        """Write down what was seen last."""
        with self._lock:
            if self._remembered is not None:
                self._keep()

    def _remember(self, view: RunView, series: SeriesView) -> Remembered:
        if not (view.is_complete and view.is_judged) or view.is_lost:
            return self._remembered or Remembered()
        now = self._clock.wall()
        is_first = self._remembered is None
        known = self._remembered or self._recall(view, series)
        alarms = after_look(
            known.alarms, view.alarms, step=view.step, now=now, began=view.judged_alarms
        )
        known = replace(known, alarms=alarms)
        if not is_first and self._before is not None:
            known = self._tell_of_before(self._before, known, view, now)
        self._remembered = replace(known, seen=seen(view, now))
        if self._clock.monotonic() - self._kept_at >= _KEEP_SECONDS:
            self._keep()
        return self._remembered

    def _events_of(
        self, view: RunView, alarms: tuple[Alarm, ...], series: SeriesView
    ) -> tuple[Event, ...]:
        """The same object until there is another."""
        if (view.events, alarms) != self._joined_from:
            self._joined_from = (view.events, alarms)
            self._events = with_alarms(view.events, alarms, series)
        return self._events

    def _recall(self, view: RunView, series: SeriesView) -> Remembered:
        """What the console before left of this run; of another one under its path, nothing."""
        told = series.t[:1]
        began = None if not len(told) or np.isnan(told[0]) else float(told[0])
        before = read_memory(self._memory) if self._memory is not None else Remembered()
        if None not in (before.began, began) and before.began != began:
            before = Remembered()
        self._before = before
        return replace(before, run=str(view.path), began=began)

    def _tell_of_before(
        self, before: Remembered, known: Remembered, view: RunView, now: float
    ) -> Remembered:
        """At the second look, which knows the events."""
        self._before = None
        if before.seen is None:
            return known
        alarms = joined(known.alarms, raised_since(view.events, before.seen.t, now=now))
        n_alarms = unacknowledged(alarms)
        self._away = away_words(before.seen, view, n_alarms=n_alarms, now=now)
        return replace(known, alarms=alarms)

    def _keep(self) -> None:
        """With what another console of this operator has acknowledged meanwhile."""
        self._kept_at = self._clock.monotonic()
        if self._memory is None or self._remembered is None:
            return
        elsewhere = read_memory(self._memory)
        noted = [alarm for alarm in elsewhere.alarms if alarm.is_acknowledged]
        alarms = acknowledged(self._remembered.alarms, noted)
        self._remembered = replace(self._remembered, alarms=alarms)
        try:
            write_memory(self._memory, self._remembered)
            self.problem = ""
        except OSError as error:
            self.problem = f"{self._memory}: {error.strerror}: what was seen is not remembered"
