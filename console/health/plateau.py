"""A loss that stands still from a step on, against one that comes to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from console.health.evidence import Values

_FEWEST_BINS = 64
_START = 0.04
"""Share of the run that is left out: warm-up and the first steep fall."""
_LEAST_FACTOR = 1.6
"""In steps, how long it has to stand still."""
_MISSING = 0.12
"""Nats that it would have gone on to fall."""
_POWERS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
_RESTS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.5)
_GAIN = 15.0
"""In mean squared errors of the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    bin: int
    sigmas: float
    missing: float
    """Nats that it would have gone on to fall."""


def standstill(middle: Values, values: Values) -> Standstill | None:
    """Where the curve of b bins stops, if one that stops explains it better than a smooth one.

    Smooth: a constant, a power law that may come to rest early, and a line. One that stops: a
    constant and a power law of min(t, stop).
    """
    if len(values) < _FEWEST_BINS:
        return None
    start = int(_START * len(values))
    t = (middle[start:] - middle[0] + 1) / (middle[-1] - middle[0] + 1)
    y = values[start:] - values[start:].mean()
    smooth = min(_squared_error(np.stack([np.ones_like(t), t**-power, t]), y) for power in _RESTS)
    stops = np.flatnonzero((t > t[4]) & (t <= 1 / _LEAST_FACTOR))
    if not len(stops):
        return None
    stops = stops[:: max(1, len(stops) // 128)]
    errors, depths = zip(*(_stopped(t, y, t[stops], power) for power in _POWERS), strict=True)
    row, column = np.unravel_index(int(np.argmin(errors)), (len(_POWERS), len(stops)))
    best, error, power = int(stops[column]), errors[row][column], _POWERS[row]
    gain = (smooth - error) / max(error / (len(y) - 4), 1e-12)
    missing = depths[row][column] * (t[best] ** -power - 1)
    if (
        gain < _GAIN
        or missing < _MISSING
        or not _is_flat(t, y, best, depths[row][column] * power * t[best] ** -power)
    ):
        return None
    return Standstill(bin=start + best, sigmas=float(gain**0.5), missing=float(missing))


def _stopped(t: Values, y: Values, stops: Values, power: float) -> tuple[Values, Values]:
    """Squared error of a power law that stops, for each stop (s,), and its factor."""
    law = np.minimum(t[None, :], stops[:, None]) ** -power
    law = law - law.mean(axis=1, keepdims=True)
    size = np.maximum((law * law).sum(axis=1), 1e-12)
    factor = np.maximum(law @ y / size, 0.0)
    return (y @ y) - factor * factor * size, factor


def _is_flat(t: Values, y: Values, stop: int, slope: float) -> bool:
    """In the logarithm of the step the slope after is under an eighth of the one before."""
    x = np.log(t[stop:])
    x -= x.mean()
    after = float(x @ y[stop:]) / float(x @ x)
    return after > -0.12 * slope


def _squared_error(basis: Values, y: Values) -> float:
    q = np.linalg.qr(basis.T)[0]
    left = y - q @ (q.T @ y)
    return float(left @ left)
