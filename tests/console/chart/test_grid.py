"""How records fall into columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from console.chart.grid import Buckets, Unit, column_of, make_grid
from console.chart.kept import Kept
from console.chart.series import Series
from console.chart.viewport import Extent

NAN = float("nan")


def bucket(steps: list[int], values: list[float], columns: int) -> Buckets:
    series = Series()
    series.append_many(steps, values, values)
    window = Extent(steps[0], steps[-1])
    grid = make_grid(series.view(), window, Unit.STEP, columns, Kept())
    return grid.bucket(series.view().loss)


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
    buckets = bucket(steps, values, columns)
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
    buckets = bucket([0, 1, 2, 3], [1.0, NAN, NAN, 4.0], 4)
    assert np.isnan(buckets.low).tolist() == [False, True, True, False]
    assert not buckets.is_empty.any()


def test_spike_of_one_step_in_a_long_history_survives() -> None:
    values = np.full(200_000, 2.0)
    values[123_456] = 40.0
    buckets = bucket(list(range(200_000)), values.tolist(), 280)
    assert buckets.high.max() == 40.0
    assert int(buckets.high.argmax()) == column_of(123_456, first=0, last=199_999, columns=280)
