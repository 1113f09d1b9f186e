"""The one line that stands for a track: smoothed where the track is noisy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from console.chart.grown import Grown
from console.chart.kept import Kept
from console.chart.series import SeriesView, Values
from console.chart.smoothing import USUAL, smooth_on
from console.chart.track import Track

Numbers = npt.NDArray[Any]


def line_of(
    track: Track, view: SeriesView, strength: float | None, kept: Kept, *, stride: int = 1
) -> Numbers:
    """Of the loss, the rate or a plain track, a value each record; shape (n,).

    `strength`: how strongly it is smoothed; `None`: the loss by the record's own EMA, the others
    as strongly. `stride`: the history holds every so manieth step, and forgets as much between two.
    """
    if track is Track.LOSS and strength is None:
        return view.ema
    if track is Track.RATE:
        tokens, ms = (
            smoothed(name, view.column(name), strength, kept, stride=stride)
            for name in ("tokens", "ms")
        )
        return rates(tokens, ms)
    values: Numbers = view.column(track)
    is_smoothed = track is Track.LOSS or track.kind.is_noisy
    return smoothed(track, values, strength, kept, stride=stride) if is_smoothed else values


def smoothed(
    name: str, values: Numbers, strength: float | None, kept: Kept, *, stride: int = 1
) -> Values:
    """The values of that name; costs what is new of them."""
    decay = (USUAL if strength is None else strength) ** stride
    return kept.lasting((smooth_on, name), Grown).of(values, decay, partial(smooth_on, decay))


def rates(tokens: Numbers, ms: Numbers) -> Values:
    """Tokens a second; NaN or infinite where the time is not told."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Values = tokens.astype(np.float64) * 1000 / ms
    return found
