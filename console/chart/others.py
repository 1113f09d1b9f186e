"""Other runs in the columns of this one's chart, and how far they are from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from console.chart.axis import LARGEST
from console.chart.cell_rows import CURVES
from console.chart.chart_data import Other
from console.chart.curve import Curve, Source, letter_of
from console.chart.grid import Buckets, Unit, laid_over, x_of
from console.chart.kept import Kept
from console.chart.lines import line_of
from console.chart.series import Values
from console.chart.track import Track

OVERLAID = (
    Track.LOSS,
    Track.VAL_LOSS,
    Track.SCORE,
    Track.RATE,
    *(track for track in Track if track.kind.is_plain),
)
"""The tracks that other runs are drawn in: an arm of another run has only its name in common."""


def other_curves(track: Track, source: Source, above: float) -> Iterator[Curve]:
    """The line of each run that is laid over; empty columns where it has nothing."""
    for number, other in enumerate(source.data.others):
        if not len(other.series):
            yield _curve(number, other, _nothing(source), float("nan"))
        elif track in (Track.VAL_LOSS, Track.SCORE):
            yield _sparse(track, source, number, other, above)
        else:
            yield _dense(track, source, number, other, above)


def _dense(track: Track, source: Source, number: int, other: Other, above: float) -> Curve:
    kept, x = source.kept.beside(number), _other_x(source, number, other)
    values = _line(track, source, kept, other)
    buckets = _bucket(track, source, kept, other, x, values, above)
    wanted = _x(source)[_read(source, x)]
    return _curve(number, other, buckets, float(_value_at(x, values, np.array([wanted]))[0]))


def _sparse(track: Track, source: Source, number: int, other: Other, above: float) -> Curve:
    """What the audits tell of all sources; what is read is the newest that there was then."""
    points = next(iter(other.points.get(track, ())), None)
    if points is None:
        return _curve(number, other, _nothing(source), float("nan"))
    record = np.searchsorted(other.series.step, points.step)
    all_x = _other_x(source, number, other)
    x = all_x[np.minimum(record, len(all_x) - 1)]
    buckets = laid_over(source.grid, x).bucket(points.value, above)
    newest = int(np.searchsorted(x, _x(source)[_read(source, all_x)], side="right")) - 1
    value = float(points.value[newest]) if newest >= 0 else float("nan")
    return _curve(number, other, buckets, value)


def _bucket(
    track: Track,
    source: Source,
    kept: Kept,
    other: Other,
    x: npt.NDArray[Any],
    values: npt.NDArray[Any],
    above: float,
) -> Buckets:
    grid = source.grid
    window = (grid.window, grid.unit, grid.columns, grid.first_x, grid.last_x)
    key = (track, source.look.smoothing, above)
    return kept.of_window(
        other.series, window, key, lambda: laid_over(grid, x).bucket(values, above)
    )


def _read(source: Source, x: npt.NDArray[Any]) -> int:
    """The record that is read: without a cursor the newest to which the other run has come."""
    if source.look.cursor is not None:
        return source.at
    common = int(np.searchsorted(_x(source), x[-1], side="right")) - 1
    return min(max(common, 0), source.at)


def difference_curves(source: Source) -> Iterator[Curve]:
    """Each other run's smoothed loss less this one's at the same place of the axis."""
    grid, own_x = source.grid, _x(source)
    own = line_of(Track.LOSS, source.view, source.look.smoothing, source.kept)
    newest, is_empty = grid.newest()
    for number, other in enumerate(source.data.others):
        if not len(other.series):
            continue
        x = _other_x(source, number, other)
        at = np.append(newest, _read(source, x))
        values = _line(Track.LOSS, source, source.kept.beside(number), other)
        apart = _value_at(x, values, own_x[at]) - own[at]
        shown = np.where(is_empty | ~(np.abs(apart[:-1]) < LARGEST), np.nan, apart[:-1])
        buckets = Buckets(low=shown, high=shown.copy(), is_empty=is_empty & ~grid.is_gap)
        yield _curve(number, other, buckets, float(apart[-1]))


def _nothing(source: Source) -> Buckets:
    nothing = np.full(source.grid.columns, np.nan)
    return Buckets(low=nothing, high=nothing.copy(), is_empty=np.isnan(nothing))


def _curve(number: int, other: Other, buckets: Buckets, value: float) -> Curve:
    return Curve(
        name=other.name,
        buckets=buckets,
        ink=CURVES[number % len(CURVES)],
        letter=letter_of(number),
        value=value,
        is_other=True,
    )


def _line(track: Track, source: Source, kept: Kept, other: Other) -> npt.NDArray[Any]:
    strength = source.look.smoothing
    return line_of(track, other.series, strength, kept, stride=other.stride)


def _x(source: Source) -> npt.NDArray[Any]:
    return x_of(source.view, source.grid.unit, source.kept)


def _other_x(source: Source, number: int, other: Other) -> npt.NDArray[Any]:
    """In time both begin at the same moment: a run of last month would be out of sight else."""
    x = x_of(other.series, source.grid.unit, source.kept.beside(number))
    return x - (x[0] - _x(source)[0]) if source.grid.unit is Unit.TIME else x


def _value_at(x: npt.NDArray[Any], values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> Values:
    """The value at each place, on the line between the records around it; NaN beyond them."""
    right = np.minimum(np.searchsorted(x, wanted), len(x) - 1)
    left = np.where(x[right] == wanted, right, np.maximum(right - 1, 0))
    span = x[right] - x[left]
    share = np.where(span > 0, (wanted - x[left]) / np.where(span > 0, span, 1), 0.0)
    between = np.where(left == right, values[right], values[left] * (1 - share))
    between = np.where(left == right, between, between + values[right] * share)
    return np.where((wanted < x[0]) | (wanted > x[-1]), np.nan, between)
