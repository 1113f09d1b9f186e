"""Medians and quantiles are numpy's, to the bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from console.chart.quantiles import known_medians, median, medians, quantiles

_FINITE = st.floats(-1e6, 1e6)
_ROWS = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=_FINITE)


@given(rows=_ROWS)
def test_medians_are_numpys(rows: np.ndarray) -> None:
    assert medians(rows).tolist() == np.median(rows, axis=1).tolist()
    assert median(rows[0]) == np.median(rows[0])


@given(rows=_ROWS, n_unknown=st.integers(0, 3))
def test_medians_of_what_is_known_are_numpys(rows: np.ndarray, n_unknown: int) -> None:
    rows[0, : min(n_unknown, rows.shape[1] - 1)] = np.nan
    assert known_medians(rows).tolist() == np.nanmedian(rows, axis=1).tolist()


@given(rows=_ROWS, shares=st.lists(st.floats(0, 1), min_size=1))
def test_quantiles_are_numpys(rows: np.ndarray, shares: list[float]) -> None:
    assert quantiles(rows[0], shares) == np.quantile(rows[0], shares).tolist()
