"""The names of what can be drawn over the steps."""

from dataclasses import dataclass
from enum import StrEnum


class Track(StrEnum):
    """In the order in which the key goes through them."""

    LOSS = "loss"
    VAL_LOSS = "val_loss"
    SCORE = "score"
    GRAD_NORM = "grad_norm"
    LR = "lr"
    RATE = "tokens/s"
    LOSS_BY_ARM = "loss by arm"
    REWARD = "reward by arm"
    SHARE = "share by arm"
    DIFFERENCE = "other - this"
    """Of the runs that are laid over: comes with them, and isn't chosen."""


@dataclass(frozen=True, slots=True)
class Field:
    """A numeric field that only the run's own trainer knows."""

    name: str
    """Foreign text."""

    def __str__(self) -> str:
        return self.name


AnyTrack = Track | Field
