"""Medians of finite numbers; quicker on short rows than numpy's own, which ask for NaN first."""

from __future__ import annotations

import numpy as np

from console.health.evidence import Floats, Values


def median(values: Floats) -> float:
    """Of (n,); NaN for none."""
    ordered = np.sort(values)
    n = len(ordered)
    return float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n else float("nan")


def medians(rows: Floats) -> Values:
    """(r,) of (r, n), n at least 1."""
    ordered = np.sort(rows, axis=1)
    n = rows.shape[1]
    return (ordered[:, (n - 1) // 2].astype(np.float64) + ordered[:, n // 2]) / 2
