"""One line of a chart, and what the lines are made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from string import ascii_lowercase
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from console.chart.cell_rows import Ink
from console.chart.chart_data import ChartData, Look
from console.chart.grid import Buckets, Grid
from console.chart.grown import Grown
from console.chart.kept import Kept
from console.chart.series import SeriesView, Values
from console.chart.smoothing import USUAL, smooth_on

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Curve:
    """One line of a panel."""

    name: str
    """Foreign text where it is an arm's or a source's."""
    buckets: Buckets
    ink: Ink
    value: float
    """Of the record that is read; NaN where there is none."""
    n_hidden: int = 0
    """Values in sight that are not above 0, where the axis is to be logarithmic."""
    letter: str = ""
    """Tells curves of one kind apart where there is no colour."""
    is_band: bool = False
    """Its bars, of many values each, are a ground for the smoothed curve: every other dot."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Source:
    """What curves are made from: the history, how it is looked at, and the record that is read."""

    data: ChartData
    look: Look
    grid: Grid
    kept: Kept
    at: int

    @property
    def view(self) -> SeriesView:
        return self.data.series

    def bucket(self, key: str, values: npt.NDArray[np.floating], above: float) -> Buckets:
        """The values by column; `key` names them."""
        return self.kept_of((key, above), lambda: self.grid.bucket(values, above))

    def kept_of(self, key: Hashable, make: Callable[[], T]) -> T:
        """What a cursor that moves over the same window doesn't change."""
        window = (self.grid.window, self.grid.unit, self.grid.columns)
        return self.kept.of_window(self.view, window, key, make)


def smoothed(view: SeriesView, strength: float | None, kept: Kept, *, stride: int = 1) -> Values:
    """The loss of a history as strongly smoothed as is wanted; `None`: the record's own EMA.

    `stride`: the history holds every so manieth step only, and forgets as much between two.
    """
    if strength is None:
        return view.ema
    return smoothed_values("loss", view.loss, strength**stride, kept)


def smoothed_values(key: str, values: npt.NDArray[Any], decay: float | None, kept: Kept) -> Values:
    """What no record brings an EMA of, by that of `USUAL` if none is wanted; `key` names it."""
    decay = USUAL if decay is None else decay
    return kept.lasting((smooth_on, key), Grown).of(values, decay, partial(smooth_on, decay))


def letter_of(number: int) -> str:
    """Tells the curves of a panel apart."""
    return ascii_lowercase[number % len(ascii_lowercase)]
