"""The growing loss history and its reduction to columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.chart.series import Series, SeriesView

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


def test_time_finds_the_first_record_at_or_after_it_though_a_clock_was_set_back() -> None:
    series = Series()
    times = [float("nan"), 10.0, 20.0, 15.0, float("nan"), 30.0]
    series.append_many(range(1, 7), [1.0] * 6, [1.0] * 6, t=times)
    view = series.view()
    found = view.at_times([5.0, 10.0, 11.0, 16.0, 21.0, 30.0, 99.0])
    assert found == [1, 1, 2, 2, 5, 5, 5]


def test_time_of_a_history_without_times_is_not_found() -> None:
    series = Series()
    assert series.view().at_times([1.0]) == []
    series.append_many([1, 2], [1.0, 1.0], [1.0, 1.0])
    assert series.view().at_times([1.0]) == []
