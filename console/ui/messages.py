"""What happened, as facts in the past tense: the only way news reaches the app."""

from dataclasses import dataclass

from textual.message import Message

from console.view.glance import Glance


class RunChanged(Message):
    """The run was looked at and is not what it was."""

    def __init__(self, glance: Glance) -> None:
        super().__init__()
        self.glance = glance


@dataclass
class RunUnreadable(Message):
    """The run could not be looked at, for a reason that the follower did not foresee."""

    reason: str


@dataclass
class OperationEnded(Message):
    """An operation that the operator asked for came back."""

    ok: bool
    message: str


@dataclass
class StepChosen(Message):
    """A step was chosen in one pane, for all; `None`: all follow the newest again."""

    step: int | None
