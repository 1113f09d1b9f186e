"""What can be drawn over the steps, and the curves that each of it is made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from console.chart.axis import LARGEST, Scale
from console.chart.cell_rows import CURVES, Ink
from console.chart.chart_data import ChartData, Look, Points
from console.chart.grid import Buckets, Grid
from console.chart.kept import Kept
from console.chart.series import SeriesView, Values
from console.chart.smoothing import smooth, smoothing_name
from console.chart.track import Track

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
    letter: str = ""
    """Tells curves of one kind apart where there is no colour."""


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


def scale_of(track: Track, look: Look) -> Scale:
    """Losses and norms are looked at as the operator wants; the others have a linear axis."""
    return look.scale if track.kind.is_like_loss else Scale.LINEAR


def curves_of(track: Track, source: Source) -> list[Curve]:
    """The curves, none where nothing is known of the track."""
    above = 0.0 if scale_of(track, source.look) is Scale.LOG else -LARGEST
    curves = list(_curves(track, source, above))
    if above == 0.0 and all(np.isnan(curve.buckets.low).all() for curve in curves):
        curves = list(_curves(track, source, -LARGEST))
    return [curve for curve in curves if track is Track.LOSS or _is_known(curve)]


def _is_known(curve: Curve) -> bool:
    return bool(np.isfinite(curve.buckets.low).any())


def _curves(track: Track, source: Source, above: float) -> Iterator[Curve]:
    view = source.view
    match track:
        case Track.LOSS:
            yield from _loss(source, above)
        case Track.VAL_LOSS | Track.SCORE:
            points = source.data.points.get(track, ())
            for number, each in enumerate(points):
                yield _sparse(each, source, number if len(points) > 1 else None)
        case Track.RATE:
            rates = source.kept.of(view, track, _tokens_per_second)
            yield _plain(track, rates, source, above)
        case Track.REWARD:
            yield from _by_arm(track, view.reward, source)
        case Track.LOSS_BY_ARM:
            yield from _by_arm(track, view.loss, source)
        case Track.SHARE:
            yield from _shares(source)
        case _ if track.kind.is_plain:
            yield _plain(track, view.column(track), source, above)


def _loss(source: Source, above: float) -> Iterator[Curve]:
    """Raw and smoothed; or the curves of two runs."""
    view, names, strength = source.view, source.data.names, source.look.smoothing
    ema = view.ema
    if names is None and strength is not None:
        ema = source.kept.of(view, strength, lambda view: smooth(view.loss, strength))
    first, second = names or ("loss", smoothing_name(strength))
    for name, values, ink in ((first, view.loss, Ink.RAW), (second, ema, Ink.SMOOTH)):
        buckets = source.bucket(f"{ink.name} {strength}", values, above)
        yield Curve(name=name, buckets=buckets, ink=ink, value=float(values[source.at]))


def _plain(track: Track, values: npt.NDArray[np.floating], source: Source, above: float) -> Curve:
    buckets = source.bucket(track, values, above)
    return Curve(name=track, buckets=buckets, ink=Ink.RAW, value=float(values[source.at]))


def _sparse(points: Points, source: Source, number: int | None) -> Curve:
    """Values at some steps only: what is read is the newest that there was then."""
    grid, view = source.grid, source.view
    window, step = grid.window, points.step
    begin = int(np.searchsorted(step, window.first))
    end = int(np.searchsorted(step, window.last, side="right"))
    low, high = np.full(grid.columns, np.nan), np.full(grid.columns, np.nan)
    is_empty = np.ones(grid.columns, bool)
    for at, value in zip(step[begin:end], points.value[begin:end], strict=True):
        column = grid.column_of_step(view, int(at))
        is_empty[column] = False
        low[column], high[column] = np.fmin(low[column], value), np.fmax(high[column], value)
    newest = int(np.searchsorted(step, view.step[source.at], side="right")) - 1
    return Curve(
        name=points.name,
        buckets=Buckets(low=low, high=high, is_empty=is_empty),
        ink=Ink.RAW if number is None else CURVES[number % len(CURVES)],
        letter="" if number is None else _letter(number),
        value=float(points.value[newest]) if newest >= 0 else float("nan"),
    )


def _tokens_per_second(view: SeriesView) -> Values:
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: Values = view.tokens.astype(np.float64) * 1000 / view.ms
    return rates


def _by_arm(track: Track, values: npt.NDArray[np.floating], source: Source) -> Iterator[Curve]:
    """The mean of each arm's records in a column."""
    total, count = source.kept_of(track, lambda: _sums_by_arm(values, source))
    with np.errstate(invalid="ignore"):
        yield from _arms(total / count, count == 0, source)


def _sums_by_arm(values: npt.NDArray[np.floating], source: Source) -> tuple[Values, Values]:
    """Sums and counts, both of shape (columns, arms + 1)."""
    shape = (source.grid.columns, len(source.view.arms) + 1)
    shown = values[source.grid.records]
    known, keys = np.isfinite(shown), _keys(source)
    if not known.all():
        shown, keys = shown[known], keys[known]
    total = np.bincount(keys, shown, shape[0] * shape[1])
    count = np.bincount(keys, minlength=shape[0] * shape[1])
    return total.reshape(shape).astype(np.float64), count.reshape(shape).astype(np.float64)


def _shares(source: Source) -> Iterator[Curve]:
    """Each arm's part of the records in a column, 0 to 1."""
    shape = (source.grid.columns, len(source.view.arms) + 1)
    count = source.kept_of(
        Track.SHARE,
        lambda: np.bincount(_keys(source), minlength=shape[0] * shape[1]).reshape(shape),
    )
    total = count.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        yield from _arms(count / total, np.broadcast_to(total == 0, count.shape), source)


def _keys(source: Source) -> npt.NDArray[np.int32]:
    """Column and arm of each record in sight as one number; unknown arms come first."""
    grid, view = source.grid, source.view
    first = np.arange(grid.columns, dtype=np.int32) * (len(view.arms) + 1) + 1
    return np.repeat(first, np.diff(grid.starts)) + view.arm[grid.records]


def _arms(values: Values, is_empty: npt.NDArray[np.bool_], source: Source) -> Iterator[Curve]:
    """A curve for each arm from arrays of shape (columns, arms + 1)."""
    at = source.grid.column_of_record(source.at)
    for number, name in enumerate(source.view.arms):
        mean, empty = values[:, number + 1], is_empty[:, number + 1]
        yield Curve(
            name=name,
            buckets=Buckets(low=mean, high=mean, is_empty=empty & ~source.grid.is_gap),
            ink=CURVES[number % len(CURVES)],
            letter=_letter(number),
            value=float(mean[at]),
        )


def _letter(number: int) -> str:
    return ascii_lowercase[number % len(ascii_lowercase)]
