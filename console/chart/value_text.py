"""Figures as the chart writes them."""

from __future__ import annotations

import math

from console import formatting
from console.chart.track import AnyTrack, Field, Track


def loss_text(value: float) -> str:
    """A loss as people read it: four decimals, or powers of ten where those say nothing."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.4f}" if 0.001 <= abs(value) < 10_000 or value == 0 else f"{value:.3e}"


def value_text(track: AnyTrack | None, value: float) -> str:
    """A value of a track; `–` is for what is unknown, where that isn't what NaN says of a loss."""
    if math.isnan(value) and track is not Track.LOSS:
        return "–"
    match track:
        case Track.SCORE:
            return formatting.score(value)
        case Track.LR:
            return formatting.learning_rate(value)
        case Track.RATE:
            return formatting.number(value, 0)
        case Track.SHARE:
            return f"{value * 100:.0f} %"
        case Field():
            return f"{value:.6g}"
        case Track.DIFFERENCE:
            return f"{value:+.4f}" if abs(value) < 10_000 else f"{value:+.3e}"
        case _:
            return loss_text(value)
