"""Two models on the same held-out rows: the paired difference and what can be said of it; pure."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

SURE_AT = 2.0
"""Standard errors from which a difference is told as one: chance gives it once in about twenty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Loss of the other minus loss of the first, row by row, nats a token."""

    rows: int
    mean: float
    standard_error: float | None
    """Of the mean; None for a single row."""
    rows_better: int
    """Rows on which the other's loss is smaller."""

    @property
    def is_sure(self) -> bool:
        """Whether chance is a poor explanation of the difference."""
        if self.standard_error is None or not self.mean:
            return False
        return abs(self.mean) >= SURE_AT * self.standard_error


def pair(first: Mapping[str, float], other: Mapping[str, float]) -> Paired | None:
    """Over the rows that both have, by their hashes; None if there is none."""
    differences = [other[row] - loss for row, loss in first.items() if row in other]
    if not differences:
        return None
    n = len(differences)
    error = statistics.stdev(differences) / math.sqrt(n) if n > 1 else None
    return Paired(
        rows=n,
        mean=statistics.fmean(differences),
        standard_error=error,
        rows_better=sum(difference < 0 for difference in differences),
    )


def difference(paired: Paired | None) -> str:
    """The mean with its error, in few cells; empty where there is nothing to compare with."""
    if paired is None:
        return ""
    error = "" if paired.standard_error is None else f" ± {paired.standard_error:.4f}"
    return f"{paired.mean:+.4f}{error}"


def verdict(first: str, other: str, paired: Paired | None) -> str:
    """The difference in words, with its uncertainty."""
    if paired is None:
        return f"{other} and {first} share no held-out text: they can't be compared fairly"
    if not paired.mean and not paired.standard_error:
        return f"{other} and {first} are equal on all {paired.rows} held-out rows"
    error = "" if paired.standard_error is None else f" ± {paired.standard_error:.4f}"
    figures = (
        f"{paired.mean:+.4f}{error} nats a token, smaller on {paired.rows_better} of"
        f" {paired.rows} held-out rows"
    )
    if not paired.is_sure:
        return (
            f"no difference that {paired.rows} held-out rows can show: {other} is at {figures}"
            f" to {first}"
        )
    word = "better" if paired.mean < 0 else "worse"
    return f"{other} is {word} than {first}: {figures}"
