"""Losses as the chart writes them."""

from __future__ import annotations

import math


def loss_text(value: float) -> str:
    """A loss as people read it: four decimals, or powers of ten where those say nothing."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.4f}" if 0.001 <= abs(value) < 10_000 or value == 0 else f"{value:.3e}"
