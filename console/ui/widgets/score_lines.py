"""The scores of a whole run above a sample: as dots, or part by part as bars over the run."""

from collections.abc import Sequence

import numpy as np
from textual.content import Content

from console import formatting
from console.chart.cell_rows import Ink, Row
from console.chart.glyphs import Glyphs
from console.chart.score_dots import (
    MEDIAN_AUDITS,
    Scores,
    columns_of,
    draw_scores,
    score_axis,
    scores_of,
)
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.audit_lines import PARTS, Part, change_content, part_value
from console.ui.widgets.text import left, levels
from console.view.run_view import Sample

_STYLES = {Ink.RAW: DIM, Ink.SMOOTH: ACCENT, Ink.CURSOR: "bold"}
_GUTTER = 4
_NAME = 11
_VALUE = 16


Scored = Sequence[tuple[int, Sample]]
"""The steps of a run's audits, with the sample of each that is looked at."""


def scores_over(scored: Scored, part: Part | None = None) -> Scores:
    """The scores of all samples, or one part of them."""
    values = [sample.score if part is None else part_value(sample, part) for _, sample in scored]
    return scores_of([step for step, _ in scored], values)


def dot_lines(scores: Scores, step: int, glyphs: Glyphs, *, width: int, rows: int) -> list[Content]:
    """All scores with the axis' ends at the left; nothing where none is known."""
    if not len(scores.score) or width <= _GUTTER:
        return []
    drawn = draw_scores(scores, step, glyphs, width=width - _GUTTER, rows=rows)
    axis = score_axis(scores)
    ends = {0: f"{axis.high:.0f}", rows - 1: f"{axis.low:.0f}"}
    key = f"{glyphs.raw_key[:1]} scores {glyphs.smooth_key[:1]} median of {MEDIAN_AUDITS}"
    lines = [_line(f"{ends.get(index, ''):>3} ", row) for index, row in enumerate(drawn)]
    return [*lines, Content.styled(" " * _GUTTER + key, DIM)]


def part_lines(
    scored: Scored, sample: Sample, before: Sample | None, *, width: int
) -> list[Content]:
    """A line a part: bars over the whole run, its points now, and how that changed."""
    return [_part_line(scored, sample, before, part, width) for part in PARTS]


def _line(gutter: str, row: Row) -> Content:
    return Content.assemble((gutter, DIM), *((run.text, _STYLES.get(run.ink, "")) for run in row))


def _part_line(
    scored: Scored, sample: Sample, before: Sample | None, part: Part, width: int
) -> Content:
    scores = scores_over(scored, part)
    columns = max(width - _NAME - _VALUE, 1)
    bars = ""
    if len(scores.score):
        means = columns_of(scores, scores.score, columns)
        bars = "".join(
            " " if np.isnan(mean) else levels([float(mean)], 0.0, part.points) for mean in means
        )
    now = part_value(sample, part)
    return Content.assemble(
        (left(part.name, _NAME), DIM),
        (left(bars, columns), ACCENT),
        f" {formatting.number(now, 1)}",
        (f"/{part.points} ", DIM),
        change_content(now, part_value(before, part) if before else None, 1, better=1),
    )
