"""The scores of a whole run in a few rows."""

import numpy as np

from console.chart.cell_rows import Ink
from console.chart.glyphs import ASCII, UNICODE
from console.chart.score_dots import columns_of, draw_scores, scores_of


def test_the_first_score_of_a_long_run_is_drawn_like_the_last() -> None:
    scores = scores_of(range(0, 200_000, 100), [90.0] + [40.0] * 1998 + [90.0])
    rows = draw_scores(scores, None, UNICODE, width=60, rows=4)
    top = "".join(run.text for run in rows[0])
    assert top[0] != " "
    assert top[-1] != " "
    assert not top[1:-1].strip()


def test_the_median_is_not_moved_by_one_odd_sample_and_an_audit_without_a_score_is_left_out() -> (
    None
):
    scores = scores_of(range(100), [70.0] * 50 + [0.0, None] + [70.0] * 48)
    assert len(scores.score) == 99
    assert set(scores.median.tolist()) == {70.0}


def test_the_chosen_step_has_its_column_and_every_row_its_width() -> None:
    scores = scores_of(range(100), [float(50 + step % 7) for step in range(100)])
    for glyphs in (UNICODE, ASCII):
        for width, height in ((1, 1), (40, 3)):
            rows = draw_scores(scores, 50, glyphs, width=width, rows=height)
            assert [sum(len(run.text) for run in row) for row in rows] == [width] * height
            assert all(any(run.ink is Ink.CURSOR for run in row) for row in rows)


def test_one_audit_alone_is_drawn() -> None:
    rows = draw_scores(scores_of([5], [61.0]), 5, UNICODE, width=10, rows=2)
    assert len(rows) == 2


def test_a_column_is_the_mean_of_its_audits_and_unknown_without_one() -> None:
    scores = scores_of([0, 1, 99], [10.0, 20.0, 30.0])
    assert columns_of(scores, scores.score, 3).tolist()[::2] == [15.0, 30.0]
    assert np.isnan(columns_of(scores, scores.score, 3)[1])


def test_no_score_at_all_is_no_dot() -> None:
    assert len(scores_of([1, 2], [None, None]).median) == 0
