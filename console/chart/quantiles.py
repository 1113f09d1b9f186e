"""Medians and quantiles as numpy's, without what those load and look at first (`numpy.ma`: 14 ms
of an opening; NaN: most of the time on short rows).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Values = npt.NDArray[np.float64]


def median(values: Floats) -> float:
    """Of (n,) finite ones; NaN for none."""
    ordered = np.sort(values)
    n = len(ordered)
    return float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n else float("nan")


def medians(rows: Floats) -> Values:
    """(r,) of (r, n) finite ones, n at least 1."""
    ordered = np.sort(rows, axis=1)
    n = rows.shape[1]
    return (ordered[:, (n - 1) // 2].astype(np.float64) + ordered[:, n // 2]) / 2


def known_medians(rows: Floats) -> Values:
    """(r,) of (r, n) without the NaN in them; each row has a number."""
    ordered = np.sort(rows, axis=1)  # NaN last
    n, row = np.count_nonzero(~np.isnan(rows), axis=1), np.arange(len(rows))
    middle: Values = (ordered[row, (n - 1) // 2].astype(np.float64) + ordered[row, n // 2]) / 2
    return middle


def quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """One for each share in [0, 1] of (n,) finite values, n at least 1; between two by a line."""
    ordered = np.sort(values).astype(np.float64)
    at = np.asarray(shares) * (len(ordered) - 1)
    below = at.astype(np.intp)
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    rest = at - below
    found = np.where(rest < 0.5, low + (high - low) * rest, high - (high - low) * (1 - rest))
    return [float(each) for each in found]
