"""How long the loss chart takes: `python -m tests.benchmarks.chart_draw`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from console.chart.axis import Scale
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import UNICODE
from console.chart.plot import draw
from console.chart.series import Series, Values
from console.chart.step_marks import Mark, MarkKind

REPEATS = 20


def noisy_loss(records: int) -> Values:
    """A falling loss with noise, a spike and a stretch of NaN, shape (records,)."""
    step = np.arange(records)
    loss = 2.2 + 7 * np.exp(-step / 2_000) + np.random.default_rng(0).normal(0, 0.1, records)
    loss[records // 2] = 40.0
    loss[records // 3 : records // 3 + records // 50] = np.nan
    return loss


def median_ms(call: Callable[[], object]) -> float:
    """The median wall time of one call in milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def measure(records: int) -> None:
    """Print a line for each thing that can happen with a history of `records` records."""
    series, loss = Series(), noisy_loss(records)
    series.append_many(np.arange(1, records + 1), loss, loss)
    marks = tuple(
        Mark(step=step, label=f"phase {step}", kind=MarkKind.PHASE)
        for step in range(1, records, records // 5)
    )
    data = ChartData(series=series.view(), marks=marks)
    for name, window, scale, width, height in (
        ("all, log", None, Scale.LOG, 160, 45),
        ("all, linear", None, Scale.LINEAR, 160, 45),
        ("all, log", None, Scale.LOG, 80, 24),
        ("last 1,000, log", 1_000, Scale.LOG, 160, 45),
    ):
        look = Look(scale=scale, window_steps=window)
        took = median_ms(lambda: draw(data, look, UNICODE, width=width, height=height))  # noqa: B023
        print(f"{records:>9,}  draw {name:<16} {width}x{height:<4} {took:8.2f} ms")

    steps = iter(range(records + 1, records + 1 + REPEATS))
    took = median_ms(lambda: series.append_many([next(steps)], [2.0], [2.0]))
    print(f"{records:>9,}  append one new record      {took:8.3f} ms")
    values = iter(range(REPEATS))
    took = median_ms(lambda: series.append_many([records], [next(values)], [2.0]))
    print(f"{records:>9,}  replace one record         {took:8.3f} ms")


if __name__ == "__main__":
    for count in (1_000, 200_000, 1_000_000):
        measure(count)
