"""What the screens ask of a run's operations."""

from typing import Protocol

from trainer.rundir.checkpoints.retention import Plan


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
