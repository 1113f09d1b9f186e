"""What the audits of a run tell of single steps, as the chart draws it."""

import math

import numpy as np

from console.chart.chart_data import Points
from console.chart.track import Track
from console.view.run_view import Audit


def points_of(audits: tuple[Audit, ...]) -> dict[Track, tuple[Points, ...]]:
    """Scores and held-out losses, by source if there are several, and by test set; by step."""
    scores = {"score": [(audit.step, audit.score) for audit in audits]}
    losses: dict[str, list[tuple[int, float | None]]] = {}
    for audit in audits:
        losses.setdefault("val_loss", []).append((audit.step, audit.val_loss))
        for name, value in audit.val_losses if len(audit.val_losses) > 1 else ():
            losses.setdefault(name, []).append((audit.step, value))
        for name, value in audit.test_losses:
            losses.setdefault(f"test {name}", []).append((audit.step, value))
    return {Track.SCORE: _points(scores), Track.VAL_LOSS: _points(losses)}


def _points(told: dict[str, list[tuple[int, float | None]]]) -> tuple[Points, ...]:
    found = {
        name: [(step, value) for step, value in values if value is not None]
        for name, values in told.items()
    }
    return tuple(
        Points(
            name=name,
            step=np.array([step for step, _ in values], np.int64),
            value=np.array([value for _, value in values], np.float64),
        )
        for name, values in found.items()
        if any(math.isfinite(value) for _, value in values)
    )
