"""What can be drawn over the steps: a row a track, and what is particular to each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from console import formatting
from console.chart.value_text import loss_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How a track is drawn and read."""

    text: Callable[[float], str] = loss_text
    """Of a value that is known."""
    is_plain: bool = False
    """The history's column of its name, a figure of each step's record, as it is."""
    is_like_loss: bool = False
    """On the axis that the operator chose; the others have a linear one."""
    has_outliers: bool = False
    """Its axis leaves out what lies far from the usual."""
    is_noisy: bool = False
    """Over a long time its values fill the panel: the smoothed ones are drawn over them."""


def _signed(value: float) -> str:
    return f"{value:+.4f}" if abs(value) < 10_000 else f"{value:+.3e}"


_LOSS = Kind(is_like_loss=True, has_outliers=True)
_OTHER = Kind()
_FIELD = Kind(
    text=lambda value: f"{value:.6g}", is_like_loss=True, has_outliers=True, is_noisy=True
)


class Track(StrEnum):
    """In the order in which the key goes through them."""

    LOSS = "loss", _LOSS
    VAL_LOSS = "val_loss", _LOSS
    SCORE = "score", Kind(text=formatting.score)
    GRAD_NORM = (
        "grad_norm",
        Kind(is_plain=True, is_like_loss=True, has_outliers=True, is_noisy=True),
    )
    LR = "lr", Kind(is_plain=True, text=formatting.learning_rate)
    RATE = (
        "tokens/s",
        Kind(text=lambda value: formatting.number(value, 0), has_outliers=True, is_noisy=True),
    )
    LOSS_BY_ARM = "loss by arm", _LOSS
    REWARD = "reward by arm"
    SHARE = "share by arm", Kind(text=lambda value: f"{value * 100:.0f} %")

    DIFFERENCE = "other - this", Kind(text=_signed, has_outliers=True)
    """Of the runs that are laid over: comes with them, and isn't chosen."""

    kind: Kind

    def __new__(cls, name: str, kind: Kind = _OTHER) -> Track:
        """A name with its kind."""
        track = str.__new__(cls, name)
        track._value_, track.kind = name, kind
        return track

    def text(self, value: float) -> str:
        """A value; `–` is for what is unknown, where that isn't what NaN says of a loss."""
        is_unknown = math.isnan(value) and self is not Track.LOSS
        return formatting.UNKNOWN if is_unknown else self.kind.text(value)


@dataclass(frozen=True, slots=True)
class Field:
    """A numeric field that only the run's own trainer knows."""

    name: str
    """Foreign text."""

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Kind:
        """All are drawn alike."""
        return _FIELD

    def text(self, value: float) -> str:
        """A value; `–` is for what is unknown."""
        return formatting.UNKNOWN if math.isnan(value) else self.kind.text(value)


AnyTrack = Track | Field
