"""The growing loss history and its reduction to columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.chart.series import Series, SeriesView, bucket, column_of

NAN = float("nan")


def series_of(*records: tuple[int, float | None]) -> Series:
    series = Series()
    steps, losses = [step for step, _ in records], [loss for _, loss in records]
    series.append_many(steps, np.array(losses, np.float64), np.array(losses, np.float64))
    return series


def content(view: SeriesView) -> list[tuple[int, float]]:
    return list(zip(view.step.tolist(), view.loss.tolist(), strict=True))


def test_records_come_back_in_order() -> None:
    series = series_of((1, 3.0), (2, 2.0))
    series.append_many([3], [1.0], [1.5])
    assert content(series.view()) == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert series.view().ema.tolist() == [3.0, 2.0, 1.5]


def test_nothing_appended_leaves_an_empty_series_empty() -> None:
    series = Series()
    series.append_many([], [], [])
    assert len(series) == 0
    assert content(series.view()) == []
    assert len(series.view().last(100)) == 0


def test_missing_values_become_nan() -> None:
    series = series_of((1, None))
    assert np.isnan(series.view().loss[0])


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises((AssertionError, ValueError)):
        Series().append_many([1, 2], [1.0], [1.0])


def test_replayed_step_overwrites_its_earlier_value_in_place() -> None:
    series = series_of((1, 3.0), (2, 2.0), (3, 1.0))
    series.append_many([2], [9.0], [9.0])
    assert content(series.view()) == [(1, 3.0), (2, 9.0), (3, 1.0)]


def test_last_record_of_a_step_wins_within_one_call() -> None:
    series = series_of((1, 1.0), (2, 2.0), (3, 3.0), (2, 2.5), (3, 3.5), (4, 4.0))
    assert content(series.view()) == [(1, 1.0), (2, 2.5), (3, 3.5), (4, 4.0)]


def test_step_left_out_before_is_inserted_at_its_place() -> None:
    series = series_of((1, 1.0), (5, 5.0))
    series.append_many([3, 5, 6], [3.0, 5.5, 6.0], [3.0, 5.5, 6.0])
    assert content(series.view()) == [(1, 1.0), (3, 3.0), (5, 5.5), (6, 6.0)]


def test_view_is_the_same_object_until_something_changes() -> None:
    series = series_of((1, 1.0), (2, NAN))
    view = series.view()
    series.append_many([1, 2], [1.0, NAN], [1.0, NAN])
    assert series.view() is view
    series.append_many([2], [2.0], [2.0])
    assert series.view() is not view


def test_view_handed_out_never_changes() -> None:
    series = series_of((1, 1.0), (2, 2.0))
    view = series.view()
    series.append_many([2, 3], [9.0, 3.0], [9.0, 3.0])
    assert content(view) == [(1, 1.0), (2, 2.0)]
    with pytest.raises(ValueError, match="read-only"):
        view.loss[0] = 0.0


def test_series_outgrows_its_first_capacity() -> None:
    series = Series()
    for start in range(0, 5000, 500):
        steps = np.arange(start, start + 500)
        series.append_many(steps, steps * 2.0, steps * 3.0)
    assert series.view().step.tolist() == list(range(5000))
    assert series.view().loss[4999] == 9998.0
    assert series.view().ema[4999] == 14997.0


def test_window_counts_steps_not_records() -> None:
    view = series_of((10, 1.0), (20, 2.0), (30, 3.0)).view()
    assert view.last(11).step.tolist() == [20, 30]
    assert view.last(10).step.tolist() == [30]
    assert view.last(100).step.tolist() == [10, 20, 30]
    assert view.last(None) is view


RECORDS = st.lists(
    st.tuples(st.integers(0, 60), st.one_of(st.just(NAN), st.floats(-100, 100, width=32))),
    max_size=80,
)


@given(RECORDS, st.integers(1, 10))
def test_series_equals_a_dictionary_whatever_the_order(
    records: list[tuple[int, float]], at_once: int
) -> None:
    series = Series()
    expected: dict[int, float] = {}
    for start in range(0, len(records), at_once):
        part = records[start : start + at_once]
        series.append_many([s for s, _ in part], [v for _, v in part], [v for _, v in part])
        expected |= dict(part)
    view = series.view()
    assert view.step.tolist() == sorted(expected)
    wanted = [expected[step] for step in sorted(expected)]
    assert np.array_equal(view.loss, wanted, equal_nan=True)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    steps = sorted(draw(st.sets(st.integers(0, 10**7), min_size=1, max_size=60)))
    value = st.one_of(st.just(NAN), st.floats(-1e6, 1e6))
    return steps, draw(st.lists(value, min_size=len(steps), max_size=len(steps)))


@given(histories(), st.integers(1, 50))
def test_least_and_greatest_of_each_column_survive(
    history: tuple[list[int], list[float]], columns: int
) -> None:
    steps, values = history
    buckets = bucket(np.array(steps), np.array(values), columns)
    members: list[list[float]] = [[] for _ in range(columns)]
    for step, value in zip(steps, values, strict=True):
        at = column_of(step, first=steps[0], last=steps[-1], columns=columns)
        members[at].append(value)
    for column, held in enumerate(members):
        finite = [value for value in held if not np.isnan(value)]
        low, high = buckets.low[column], buckets.high[column]
        assert buckets.is_empty[column] == (not held)
        assert (low, high) == (min(finite), max(finite)) if finite else np.isnan(low + high)


def test_column_of_nan_alone_is_a_gap_and_not_empty() -> None:
    buckets = bucket(np.array([0, 1, 2, 3]), np.array([1.0, NAN, NAN, 4.0]), 4)
    assert np.isnan(buckets.low).tolist() == [False, True, True, False]
    assert not buckets.is_empty.any()


def test_spike_of_one_step_in_a_long_history_survives() -> None:
    values = np.full(200_000, 2.0)
    values[123_456] = 40.0
    buckets = bucket(np.arange(200_000), values, 280)
    assert buckets.high.max() == 40.0
    assert int(buckets.high.argmax()) == column_of(123_456, first=0, last=199_999, columns=280)
