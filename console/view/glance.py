"""A run and its history at one moment, and who looks."""

from dataclasses import dataclass
from typing import Protocol

from console.chart.series import Series, SeriesView
from console.view.machine import Machine
from console.view.run_view import RunView


class Follower(Protocol):
    """Looks at the run; one caller at a time."""

    @property
    def series(self) -> Series: ...
    def look(self) -> RunView: ...
    def look_at_machine(self) -> Machine: ...


@dataclass(frozen=True, slots=True)
class Glance:
    """The run at one moment and its loss history at the same moment."""

    view: RunView
    series: SeriesView
