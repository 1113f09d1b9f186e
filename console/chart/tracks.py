"""What can be drawn over the steps, and the curves that each of it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from console.chart.axis import LARGEST, Scale
from console.chart.by_arm import means_by_arm, shares_by_arm
from console.chart.cell_rows import CURVES, Ink
from console.chart.chart_data import Look, Points
from console.chart.curve import Curve, Source, letter_of
from console.chart.grid import Buckets, Grid
from console.chart.lines import line_of, rates, smoothed
from console.chart.others import OVERLAID, difference_curves, other_curves
from console.chart.series import Values
from console.chart.smoothing import smoothing_name, smoothing_name_beside
from console.chart.track import AnyTrack, Field, Track

_BAND = 4
"""With so many records a column noisy values are a band."""


def scale_of(track: AnyTrack, look: Look) -> Scale:
    """Losses, norms and the trainer's own fields are looked at as the operator wants; the others
    have a linear axis.
    """
    return look.scale if track.kind.is_like_loss else Scale.LINEAR


def curves_of(track: AnyTrack, source: Source) -> list[Curve]:
    """The curves, none where nothing is known of the track."""
    # Of a field what is not above 0 is no fault: none of it is left out.
    is_log = scale_of(track, source.look) is Scale.LOG and not isinstance(track, Field)
    above = 0.0 if is_log else -LARGEST
    curves = list(_curves(track, source, above))
    if above == 0.0 and all(np.isnan(curve.buckets.low).all() for curve in curves):
        curves = list(_curves(track, source, -LARGEST))
    is_all_told = track in (Track.LOSS, Track.DIFFERENCE)
    return [curve for curve in curves if is_all_told or _is_known(curve)]


def _is_known(curve: Curve) -> bool:
    return bool(np.isfinite(curve.buckets.low).any())


def _curves(track: AnyTrack, source: Source, above: float) -> Iterator[Curve]:
    view = source.view
    match track:
        case Track.LOSS:
            yield from _loss(source, above)
        case Track.VAL_LOSS | Track.SCORE:
            yield from _audits(track, source)
        case Track.RATE:
            values = source.kept.of(view, track, lambda view: rates(view.tokens, view.ms))
            yield from _columns(track, values, source, above)
        case Track.REWARD:
            yield from means_by_arm(track, view.reward, source)
        case Track.LOSS_BY_ARM:
            yield from means_by_arm(track, view.loss, source)
        case Track.SHARE:
            yield from shares_by_arm(source)
        case Field():
            yield from _field(track, source, above)
        case Track.DIFFERENCE:
            yield from difference_curves(source)
        case _ if track.kind.is_plain:
            yield from _columns(track, view.column(track), source, above)
    if track in OVERLAID:
        yield from other_curves(track, source, above)


def _columns(
    track: Track, values: npt.NDArray[np.floating], source: Source, above: float
) -> Iterator[Curve]:
    """A figure of each record, and what is noisy smoothed."""
    yield Curve(
        name=track,
        buckets=source.bucket(track, values, above),
        ink=Ink.RAW,
        value=float(values[source.at]),
        is_band=track.kind.is_noisy and _is_crowded(source.grid),
    )
    if track.kind.is_noisy:
        smooth = line_of(track, source.view, source.look.smoothing, source.kept)
        yield _smooth(smooth, source.at, source.grid, source, above)


def _loss(source: Source, above: float) -> Iterator[Curve]:
    """Raw and smoothed; or the curves of two runs."""
    view, names, strength = source.view, source.data.names, source.look.smoothing
    ema = view.ema if names is not None else line_of(Track.LOSS, view, strength, source.kept)
    first, second = names or ("loss", smoothing_name(strength))
    for name, values, ink in ((first, view.loss, Ink.RAW), (second, ema, Ink.SMOOTH)):
        buckets = source.bucket(f"{ink.name} {strength}", values, above)
        yield Curve(
            name=name,
            buckets=buckets,
            ink=ink,
            value=float(values[source.at]),
            n_hidden=_hidden(source) if ink is Ink.RAW and above == 0.0 else 0,
        )


def _hidden(source: Source) -> int:
    loss = source.view.loss
    return source.kept_of(_hidden, lambda: int(np.count_nonzero(loss[source.grid.records] <= 0)))


def _is_crowded(grid: Grid) -> bool:
    return int(grid.starts[-1] - grid.starts[0]) >= _BAND * grid.columns


def _smooth(values: Values, at: int, grid: Grid, source: Source, above: float) -> Curve:
    """Over the values as they are."""
    return Curve(
        name=smoothing_name_beside(source.look.smoothing),
        buckets=grid.ends(values, above),
        ink=Ink.SMOOTH,
        value=float(values[at]) if at >= 0 else float("nan"),
    )


def _audits(track: Track, source: Source) -> Iterator[Curve]:
    """Of several each has a letter, behind those of the runs laid over."""
    points = source.data.points.get(track, ())
    first = len(source.data.others)
    for number, each in enumerate(points, start=first):
        yield _sparse(each, source, number if len(points) > 1 else None)


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
        letter="" if number is None else letter_of(number),
        value=float(points.value[newest]) if newest >= 0 else float("nan"),
    )


def _field(track: Field, source: Source, above: float) -> Iterator[Curve]:
    """Values at many steps: what is read is the newest that there was then."""
    points = next((each for each in source.data.fields if each.name == track.name), None)
    if points is None:
        return
    grid, step = source.grid, points.step
    own, last = source.view.step, len(source.view) - 1
    # The steps at which the columns begin; the last one ends behind the newest.
    bounds = own[np.minimum(grid.starts, last)] + (grid.starts > last)
    filled = replace(grid, starts=np.searchsorted(step, bounds))
    buckets = source.kept_of(points, lambda: filled.bucket(points.value, above))
    newest = int(np.searchsorted(step, source.view.step[source.at], side="right")) - 1
    value = float(points.value[newest]) if newest >= 0 else float("nan")
    yield Curve(
        name=points.name,
        buckets=buckets,
        ink=Ink.RAW,
        value=value,
        is_band=_is_crowded(filled),
    )
    smooth = smoothed(points.name, points.value, source.look.smoothing, source.kept)
    yield _smooth(smooth, newest, filled, source, above)
