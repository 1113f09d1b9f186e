"""A run and its history at one moment, and who looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from console.chart.series import Series, SeriesView
from console.view.alarm_book import Alarm
from console.view.machine import Machine
from console.view.run_view import Event, RunView
from console.view.sources import SourceFacts


class Follower(Protocol):
    """Looks at the run; one caller at a time."""

    @property
    def series(self) -> Series: ...
    @property
    def sources(self) -> SourceFacts: ...
    def look(self) -> RunView: ...
    def look_at_machine(self) -> Machine: ...


class Watcher(Protocol):
    """Looks for one operator; `look` blocks and has one caller at a time."""

    @property
    def problem(self) -> str: ...
    def look(self) -> "Glance": ...
    def look_at_machine(self) -> Machine: ...
    def acknowledge(self, alarms: Sequence[Alarm]) -> None: ...


@dataclass(frozen=True, slots=True)
class Glance:
    """The run at one moment and its loss history at the same moment."""

    view: RunView
    series: SeriesView
    alarms: tuple[Alarm, ...] = ()
    """That last, or that the operator has not acknowledged; by the time they were raised."""
    away: str = ""
    """What became of the run since the operator saw it last; empty if that is told, or nothing."""
    events: tuple[Event, ...] = ()
    """What happened to the run, and what its operator was warned of; oldest first, the same object
    until there is another.
    """
    sources: SourceFacts = field(default_factory=SourceFacts)
    """What is known of the run's sources at the same moment."""
