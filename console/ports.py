"""What the screens need from the rest of the console: small protocols and values."""

from dataclasses import dataclass
from typing import Protocol

from console.run_view import RunView
from console.series import Series, SeriesView
from trainer.rundir.retention import Plan


class Outcome(Protocol):
    """How an operation went, in one line for a person."""

    @property
    def ok(self) -> bool: ...
    @property
    def message(self) -> str: ...


class Operations(Protocol):
    """What an operator can do to a run; each call may block for a moment."""

    def checkpoint(self) -> Outcome: ...
    def stop(self) -> Outcome: ...
    def launch(self) -> Outcome: ...
    def preview_thinning(self) -> Plan | Outcome: ...
    def thin(self, plan: Plan) -> Outcome: ...


class Follower(Protocol):
    """Looks at the run; one caller at a time."""

    @property
    def series(self) -> Series: ...
    def look(self) -> RunView: ...


@dataclass(frozen=True, slots=True)
class Glance:
    """The run at one moment and its loss history at the same moment."""

    view: RunView
    series: SeriesView
