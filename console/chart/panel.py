"""One track drawn: its axis, its curves, the marks behind and the cursor before them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from console import formatting
from console.chart.axis import Axis, Scale, fit_axis
from console.chart.cell_rows import (
    CURVES,
    Ink,
    Placed,
    Row,
    Run,
    clipped,
    place,
    printable,
    to_runs,
)
from console.chart.curve import Curve
from console.chart.curves import encode, rasterise
from console.chart.glyphs import Glyphs
from console.chart.quantiles import quantiles
from console.chart.series import Values
from console.chart.step_marks import Mark, MarkKind
from console.chart.track import AnyTrack, Track

_ROWS_A_TICK = 3
_FENCE = 2.25
"""Beyond the quartiles by so many times their distance lies what may be left out of the axis."""
_LEFT_OUT = 0.02
"""Share of the columns that are left out at either end, at most."""
_HIGHEST_POWER = 300.0
"""No axis holds more."""
_FEW = 20
"""So few values are all shown."""
_LETTER_EVERY = 16
_NAME_CELLS = 24


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Panel:
    """Curves with a common axis, in so many rows."""

    track: AnyTrack
    curves: Sequence[Curve]
    axis: Axis
    rows: int

    def ticks(self) -> dict[int, str]:
        """Which rows bear a tick, and its text; two ticks are two rows apart at least.

        Of a difference the zero has one, whatever else has room.
        """
        ticks: dict[int, str] = {}
        told = self.axis.ticks(max(min(3, self.rows), self.rows // _ROWS_A_TICK))
        if self.track is Track.DIFFERENCE and self.rows:
            told.insert(0, (0.0, "0"))
        for value, text in told:
            row = self.row_of(value)
            if not {row - 1, row, row + 1} & ticks.keys():
                ticks[row] = text
        return ticks

    def row_of(self, value: float) -> int:
        """Where a value in the axis lies."""
        return round((1 - float(self.axis.height(np.array([value]))[0])) * (self.rows - 1))


def fit_panel(track: AnyTrack, curves: Sequence[Curve], scale: Scale, rows: int) -> Panel:
    """With the axis that shows what is usual in the window; what lies far from it is beyond."""
    # What lies between the noisy values stretches no axis.
    values = _ends([c for c in curves if not (track.kind.is_noisy and c.ink is Ink.SMOOTH)])
    if not len(values):
        return Panel(track=track, curves=curves, axis=fit_axis(Scale.LINEAR, 0.0, 0.0), rows=rows)
    low, high = float(values.min()), float(values.max())
    if track.kind.has_outliers:
        is_log = scale is Scale.LOG and low > 0
        fences = [_fences(group, is_log=is_log) for group in _groups(curves)]
        least, most = min(least for least, _ in fences), max(most for _, most in fences)
        usual = values[(values >= least) & (values <= most)]
        low, high = float(usual.min()), float(usual.max())
    if track is Track.SHARE:
        low = 0.0
    if track is Track.DIFFERENCE:
        low, high = min(low, 0.0), max(high, 0.0)
    return Panel(track=track, curves=curves, axis=fit_axis(scale, low, high), rows=rows)


def _groups(curves: Sequence[Curve]) -> list[Values]:
    """The values that each say for themselves what is usual; none is empty.

    The smoothed curve says where the middle is, not how far the values usually reach. A run that
    is laid over may lie elsewhere altogether.
    """
    others = [curve for curve in curves if curve.is_other]
    own = [curve for curve in curves if curve.ink is not Ink.SMOOTH and curve not in others]
    groups = [_ends(own), *(_ends([curve]) for curve in others)]
    return [group for group in groups if len(group)] or [_ends(curves)]


def _ends(curves: Sequence[Curve]) -> Values:
    """The least and the greatest values of all columns that have any."""
    found = [part for each in curves for part in (each.buckets.low, each.buckets.high)]
    values = np.concatenate(found) if found else np.empty(0)
    return values[np.isfinite(values)]


def _fences(values: Values, *, is_log: bool) -> tuple[float, float]:
    """Between which the axis is fitted to the values; not all of them lie beyond."""
    if len(values) <= _FEW:
        return -math.inf, math.inf
    scaled = np.log10(values) if is_log else values
    low, first, third, high = quantiles(scaled, (_LEFT_OUT, 0.25, 0.75, 1 - _LEFT_OUT))
    reach = _FENCE * (third - first)
    least, most = float(min(low, first - reach)), float(max(high, third + reach))
    return (10**least, 10 ** min(most, _HIGHEST_POWER)) if is_log else (least, most)


def draw_panel(
    panel: Panel,
    marks: Sequence[tuple[int, Mark]],
    cursors: Sequence[int],
    glyphs: Glyphs,
    *,
    gutter: int,
    columns: int,
) -> list[Row]:
    """The rows of the panel; `marks` and `cursors` by column."""
    if not panel.rows:
        return []
    characters = np.full((panel.rows, columns), " ")
    inks: npt.NDArray[np.uint8] = np.zeros((panel.rows, columns), np.uint8)
    for kind in reversed(MarkKind):
        at = [column for column, mark in marks if mark.kind is kind]
        characters[:, at], inks[:, at] = kind.line(glyphs), kind.ink
    if panel.track is Track.DIFFERENCE:
        zero = panel.row_of(0.0)
        characters[zero], inks[zero] = glyphs.horizontal, Ink.AXIS
    for curve in sorted(panel.curves, key=lambda curve: curve.ink is Ink.SMOOTH):
        _draw_curve(curve, panel, glyphs, characters, inks)
    for curve in panel.curves:
        if curve.ink is not Ink.SMOOTH:
            _draw_beyond(curve, panel, glyphs, characters, inks)
    for column in cursors:
        is_blank = inks[:, column] == Ink.BLANK
        characters[is_blank, column] = glyphs.cursor
        inks[:, column] = Ink.CURSOR
    ticks = panel.ticks()
    drawn = [to_runs(*row) for row in zip(characters, inks, strict=True)]
    return [(*_gutter(ticks.get(at), gutter, glyphs), *row) for at, row in enumerate(drawn)]


def _draw_curve(
    curve: Curve,
    panel: Panel,
    glyphs: Glyphs,
    characters: npt.NDArray[np.str_],
    inks: npt.NDArray[np.uint8],
) -> None:
    """Over what is there: its dots, and its letter now and then."""
    columns = characters.shape[1]
    dots = glyphs.smooth if curve.ink is Ink.SMOOTH else glyphs.raw
    bits = rasterise(curve.buckets, panel.axis, panel.rows * dots.rows)
    if curve.is_band:
        bits &= np.indices(bits.shape).sum(axis=0) % 2 == 0
    layer = encode(bits, dots)
    is_drawn = layer != " "
    characters[is_drawn], inks[is_drawn] = layer[is_drawn], curve.ink
    if curve.letter:
        begin = (ord(curve.letter) - ord("a")) * 3 % _LETTER_EVERY
        for column in range(begin, columns, _LETTER_EVERY):
            rows = np.flatnonzero(is_drawn[:, column])
            if len(rows):
                characters[rows[0], column] = curve.letter


def _draw_beyond(
    curve: Curve,
    panel: Panel,
    glyphs: Glyphs,
    characters: npt.NDArray[np.str_],
    inks: npt.NDArray[np.uint8],
) -> None:
    """Arrows at the edges to what lies beyond them."""
    columns = characters.shape[1]
    high, low = (panel.axis.height(end) for end in (curve.buckets.high, curve.buckets.low))
    for row, is_beyond, arrow in (
        (0, high > 1 + 1e-9, glyphs.above),
        (panel.rows - 1, low < -1e-9, glyphs.below),
    ):
        at = is_beyond.reshape(columns, -1).any(axis=1)
        characters[row, at], inks[row, at] = arrow, Ink.BEYOND


def _gutter(text: str | None, width: int, glyphs: Glyphs) -> Row:
    if text is None:
        return (Run(" " * (width - 1) + glyphs.vertical, Ink.AXIS),)
    return (Run(text.rjust(width - 2) + " ", Ink.TEXT), Run(glyphs.tick, Ink.AXIS))


def place_head(panel: Panel, right: Sequence[str], glyphs: Glyphs, width: int) -> Row:
    """The key of the panel, and at the right the first of `right` that has room.

    The smoothed curve's key alone, as far as it goes, where not even the first two have room.
    """
    texts = _head_texts(panel, glyphs)
    placed: list[Placed] = []
    at = 1
    for text, ink in texts:
        if at + cell_len(text) > width:
            break
        placed.append(Placed(at, text, ink))
        at += cell_len(text) + 2
    if len(placed) < min(2, len(texts)):
        if not panel.curves:
            return place([Placed(0, clipped(texts[0][0], width, glyphs), texts[0][1])], width)
        smooth = [curve for curve in panel.curves if curve.ink is Ink.SMOOTH]
        curve = (smooth or panel.curves)[-1]
        text = _said(panel.track, curve, glyphs)
        return place([Placed(0, clipped(text, width, glyphs), curve.ink)], width)
    for text in right if len(placed) == len(texts) else ():
        if at + cell_len(text) <= width - 1:
            placed.append(Placed(width - 1 - cell_len(text), text, Ink.TEXT))
            break
    return place(placed, width)


def _head_texts(panel: Panel, glyphs: Glyphs) -> list[tuple[str, Ink]]:
    """Each curve's name and value in its ink, after the track's name if they have others."""
    track, curves = panel.track, panel.curves
    if not curves:
        return [(f"{printable(str(track), glyphs)}: nothing recorded", Ink.TEXT)]
    is_named = track is Track.LOSS or curves[0].name == str(track)
    texts = [] if is_named else [(str(track), Ink.TEXT)]
    for curve in curves:
        key = glyphs.smooth_key if curve.ink is Ink.SMOOTH else glyphs.raw_key
        texts.append((f"{curve.letter or key} {_said(track, curve, glyphs)}", curve.ink))
    return texts


def _said(track: AnyTrack, curve: Curve, glyphs: Glyphs) -> str:
    name = clipped(printable(curve.name, glyphs), _NAME_CELLS, glyphs)
    # Of another run NaN is no loss: it has no such step.
    is_unknown = curve.ink in CURVES and math.isnan(curve.value)
    value = formatting.UNKNOWN if is_unknown else track.text(curve.value)
    return f"{name} {printable(value, glyphs)}"
