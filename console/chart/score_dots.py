"""All scores of a run as dots, with their running median as a line through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from console.chart.axis import Axis, Scale
from console.chart.cell_rows import Ink, Row, to_runs
from console.chart.curves import Bits, encode, rasterise
from console.chart.glyphs import Glyphs
from console.chart.grid import Buckets
from console.chart.quantiles import known_medians
from console.chart.series import Values

MEDIAN_AUDITS = 21
"""Of so many audits around each: one odd sample does not move it."""
_LEAST_SPAN = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Arrays of shape (audits,), by ascending step; NaN where an audit has no score."""

    step: Values
    score: Values
    median: Values


def scores_of(steps: Sequence[int], scores: Sequence[float | None]) -> Scores:
    """The scores with their running median; at the ends that of the audits there are."""
    score = np.array([np.nan if each is None else each for each in scores], dtype=np.float64)
    step = np.array(steps, dtype=np.float64)
    known = np.isfinite(score)
    step, score = step[known], score[known]
    if not len(score):
        return Scores(step=step, score=score, median=score)
    half = min(MEDIAN_AUDITS // 2, (len(score) - 1) // 2)
    padded = np.pad(score, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    return Scores(step=step, score=score, median=known_medians(windows))


def score_axis(scores: Scores) -> Axis:
    """Fits all scores, whole fives at both ends."""
    low, high = (float(scores.score.min()), float(scores.score.max()))
    low, high = 5 * np.floor(low / 5), 5 * np.ceil(high / 5)
    return Axis(scale=Scale.LINEAR, low=float(low), high=float(max(high, low + _LEAST_SPAN)))


def draw_scores(
    scores: Scores, chosen: int | None, glyphs: Glyphs, *, width: int, rows: int
) -> list[Row]:
    """`rows` rows of `width` cells; the column of the step `chosen` is marked."""
    axis = score_axis(scores)
    dots = encode(_dots(scores, axis, glyphs, width, rows), glyphs.raw)
    lines = encode(_line(scores, axis, glyphs, width, rows), glyphs.smooth)
    is_line = lines != " "
    characters = np.where(is_line, lines, dots)
    inks = np.where(is_line, Ink.SMOOTH, Ink.RAW).astype(np.uint8)
    if chosen is not None:
        column = int(_columns(scores.step, np.array([float(chosen)]), width)[0])
        is_blank = characters[:, column] == " "
        characters[is_blank, column] = glyphs.vertical
        inks[:, column] = Ink.CURSOR
    return [to_runs(row, ink) for row, ink in zip(characters, inks, strict=True)]


def columns_of(scores: Scores, values: Values, columns: int) -> Values:
    """The mean of `values` in each column, shape (columns,); NaN where there is no audit."""
    at = _columns(scores.step, scores.step, columns)
    counts = np.bincount(at, minlength=columns)
    sums = np.bincount(at, values, minlength=columns)
    mean: Values = np.divide(sums, counts, out=np.full(columns, np.nan), where=counts > 0)
    return mean


def _columns(steps: Values, at: Values, columns: int) -> npt.NDArray[np.intp]:
    first, last = float(steps[0]), float(steps[-1])
    share = (at - first) / max(last - first, 1.0)
    return np.clip(share * columns, 0, columns - 1).astype(np.intp)


def _dots(scores: Scores, axis: Axis, glyphs: Glyphs, width: int, rows: int) -> Bits:
    dots = glyphs.raw
    height, columns = rows * dots.rows, width * dots.columns
    bits = np.zeros((height, columns), dtype=np.bool_)
    row = np.rint((1 - axis.height(scores.score)) * (height - 1)).astype(np.intp)
    bits[np.clip(row, 0, height - 1), _columns(scores.step, scores.step, columns)] = True
    return bits


def _line(scores: Scores, axis: Axis, glyphs: Glyphs, width: int, rows: int) -> Bits:
    dots = glyphs.smooth
    columns = width * dots.columns
    mean = columns_of(scores, scores.median, columns)
    buckets = Buckets(low=mean, high=mean.copy(), is_empty=np.isnan(mean))
    return rasterise(buckets, axis, rows * dots.rows)
