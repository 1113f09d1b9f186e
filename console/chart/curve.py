"""One line of a chart, and what the lines are made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from console.chart.cell_rows import Ink
from console.chart.chart_data import ChartData, Look
from console.chart.grid import Buckets, Grid
from console.chart.kept import Kept
from console.chart.series import SeriesView

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
    is_other: bool = False
    """Of a run that is laid over."""
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


def letter_of(number: int) -> str:
    """Tells the curves of a panel apart."""
    return ascii_lowercase[number % len(ascii_lowercase)]
