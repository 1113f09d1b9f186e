"""The paired difference on the same held-out rows, and its words."""

import math

import pytest

from console.fork.paired_rows import pair, verdict

FIRST = {"a": 2.0, "b": 3.0, "c": 4.0, "d": 5.0}


def test_difference_is_paired_by_row_with_its_standard_error() -> None:
    paired = pair(FIRST, {"d": 4.8, "a": 1.9, "b": 2.7, "x": 9.0})
    assert paired is not None
    assert paired.rows == 3
    assert paired.mean == pytest.approx(-0.2)
    assert paired.standard_error == pytest.approx(0.1 / math.sqrt(3))
    assert paired.rows_better == 3
    assert verdict("A", "B", paired) == (
        "B is better than A: -0.2000 ± 0.0577 nats a token, smaller on 3 of 3 held-out rows"
    )


def test_difference_within_its_uncertainty_is_no_verdict() -> None:
    paired = pair(FIRST, {"a": 2.4, "b": 2.7, "c": 4.1, "d": 4.9})
    assert paired is not None
    assert verdict("A", "B", paired).startswith("no difference that 4 held-out rows can show")


def test_difference_for_the_worse_is_told_so() -> None:
    paired = pair(FIRST, {row: loss + 0.1 for row, loss in FIRST.items()})
    assert verdict("A", "B", paired).startswith("B is worse than A: +0.1000")


def test_single_row_has_no_uncertainty_and_shows_nothing() -> None:
    paired = pair({"a": 2.0}, {"a": 1.0})
    assert paired is not None
    assert paired.standard_error is None
    assert verdict("A", "B", paired).startswith("no difference that 1 held-out rows can show")


def test_equal_models_are_equal_and_disjoint_text_is_no_comparison() -> None:
    assert verdict("A", "B", pair(FIRST, FIRST)) == "B and A are equal on all 4 held-out rows"
    assert pair(FIRST, {"x": 1.0}) is None
    assert "can't be compared fairly" in verdict("A", "B", None)
