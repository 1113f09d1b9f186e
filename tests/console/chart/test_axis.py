"""Axes: scales, ticks and how they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.chart.axis import LARGEST, Scale, fit_axis, step_text, step_ticks


def texts(scale: Scale, low: float, high: float, most: int = 6) -> list[str]:
    return [text for _, text in fit_axis(scale, low, high).ticks(most)]


def test_linear_ticks_are_round_and_evenly_written() -> None:
    assert texts(Scale.LINEAR, 1.93, 2.61) == ["2.0", "2.2", "2.4", "2.6"]
    assert texts(Scale.LINEAR, 0.0, 40.0) == ["0", "10", "20", "30", "40"]


def test_log_ticks_are_one_two_five_and_then_whole_decades() -> None:
    assert texts(Scale.LOG, 0.4, 12) == ["0.5", "1", "2", "5", "10"]
    assert texts(Scale.LOG, 0.001, 1000, most=4) == ["0.01", "1", "100"]


def test_log_axis_of_a_narrow_range_has_linear_ticks() -> None:
    assert texts(Scale.LOG, 2.1, 2.5) == ["2.1", "2.2", "2.3", "2.4", "2.5"]


def test_log_axis_puts_equal_ratios_at_equal_distances() -> None:
    heights = fit_axis(Scale.LOG, 1, 100).height(np.array([1.0, 10.0, 100.0]))
    assert heights.tolist() == [0.0, 0.5, 1.0]


def test_log_axis_falls_back_to_linear_at_zero_and_below() -> None:
    assert fit_axis(Scale.LOG, 0.0, 3.0).scale is Scale.LINEAR
    assert fit_axis(Scale.LOG, -2.0, -1.0).scale is Scale.LINEAR


@pytest.mark.parametrize("value", [0.0, 2.5, -3.0, 1e-30, 1e300])
def test_constant_value_gets_an_axis_around_it(value: float) -> None:
    axis = fit_axis(Scale.LINEAR, value, value)
    assert axis.low < axis.high
    assert axis.height(np.array([value])) == pytest.approx(0.5)


@given(
    st.sampled_from(Scale),
    st.floats(-LARGEST, LARGEST),
    st.floats(-LARGEST, LARGEST),
    st.integers(2, 20),
)
def test_ticks_are_few_ascending_and_inside(
    scale: Scale, one: float, other: float, most: int
) -> None:
    axis = fit_axis(scale, min(one, other), max(one, other))
    values = [value for value, _ in axis.ticks(most)]
    assert len(values) <= most
    assert values == sorted(values)
    heights = axis.height(np.array(values))
    assert ((heights > -1e-6) & (heights < 1 + 1e-6)).all()


def test_steps_read_as_short_as_their_unit_allows() -> None:
    assert step_text(112_000, 1000) == "112k"
    assert step_text(112_700, 100) == "112.7k"
    assert step_text(112_650, 50) == "112,650"
    assert step_text(0, 1000) == "0"
    assert step_text(200, 100) == "200"


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 300))
def test_step_labels_have_room(first: int, length: int, columns: int) -> None:
    ticks = step_ticks(first, first + length, columns)
    assert all(first <= step <= first + length for step, _ in ticks)
    assert len(ticks) <= 1 or sum(len(text) + 3 for _, text in ticks) <= columns
