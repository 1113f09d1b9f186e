"""Figures as the chart writes them."""

from __future__ import annotations

import math

from console.chart.track import Track


def loss_text(value: float) -> str:
    """A loss as people read it: four decimals, or powers of ten where those say nothing."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.4f}" if 0.001 <= abs(value) < 10_000 or value == 0 else f"{value:.3e}"


def value_text(track: Track, value: float) -> str:
    """A value of a track; `–` is for what is unknown, where that isn't what NaN says of a loss."""
    if math.isnan(value) and track is not Track.LOSS:
        return "–"
    match track:
        case Track.SCORE:
            return f"{value:.1f}"
        case Track.LR:
            return f"{value:.2e}"
        case Track.RATE:
            return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
        case Track.SHARE:
            return f"{value * 100:.0f} %"
        case _:
            return loss_text(value)
