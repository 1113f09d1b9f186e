"""Smoothing against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.chart.smoothing import STRENGTHS, smooth, smoothing_name

VALUE = st.one_of(st.just(math.nan), st.floats(-100, 100))


@given(st.lists(VALUE, max_size=300), st.sampled_from([0.0, 0.6, 0.98, 0.9998]))
def test_blocks_give_what_a_loop_over_the_records_gives(
    values: list[float], strength: float
) -> None:
    total = weight = 0.0
    wanted = []
    for value in values:
        is_known = math.isfinite(value)
        total = strength * total + (value if is_known else 0.0)
        weight = strength * weight + is_known
        wanted.append(total / weight if weight else math.nan)
    found = smooth(np.array(values), strength)
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9, nan_ok=True)


def test_the_method_is_named() -> None:
    names = ["EMA", "not smoothed", "EMA 0.98"]
    assert [smoothing_name(each) for each in (None, 0.0, 0.98)] == names
    assert STRENGTHS[0] is None, "the record's own comes first"
