"""How long the loss chart takes: `python -m tests.benchmarks.chart_draw`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

import numpy as np

from console.chart.chart_data import ChartData, Look, Other
from console.chart.glyphs import UNICODE
from console.chart.kept import Kept
from console.chart.navigation import move, pan, zoom
from console.chart.plot import draw
from console.chart.series import Series, Values
from console.chart.step_marks import Mark, MarkKind
from console.chart.track import Track
from console.chart.viewport import Viewport

REPEATS = 20
LOSS = (Track.LOSS,)
FOUR = (Track.LOSS, Track.GRAD_NORM, Track.LR, Track.LOSS_BY_ARM)


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


def walk(data: ChartData, look: Look, kept: Kept, width: int, height: int) -> dict[str, float]:
    """The median milliseconds of a key of each kind, drawing included."""
    now, drawing = look, draw(data, look, UNICODE, width=width, height=height, kept=kept)
    keys: dict[str, Callable[[], Look]] = {
        "cursor": lambda: move(now, data, drawing, -1),
        "zoom": lambda: zoom(now, data, next(factors)),
        "pan": lambda: pan(now, data, next(shares)),
    }
    factors, shares = cycle((0.8, 1.25)), cycle((-0.25, 0.25))
    took = {}
    for name, key in keys.items():

        def press(key: Callable[[], Look] = key) -> None:
            nonlocal now, drawing
            now = key()
            drawing = draw(data, now, UNICODE, width=width, height=height, kept=kept)

        took[name] = median_ms(press)
    return took


def measure(records: int) -> None:
    """Print a line for each thing that can happen with a history of `records` records."""
    series, loss = Series(), noisy_loss(records)
    step = np.arange(1, records + 1)
    series.append_many(
        step,
        loss,
        loss,
        lr=3e-4 * step / records,
        grad_norm=loss / 5,
        reward=np.abs(np.sin(step)),
        tokens=np.full(records, 524_288),
        ms=9_000 + step % 1_000,
        t=1.7e9 + 10.0 * step,
        arm=series.codes_of([f"arm {number % 5}" for number in step.tolist()]),
    )
    marks = tuple(
        Mark(step=step, label=f"phase {step}", kind=MarkKind.PHASE)
        for step in range(1, records, records // 5)
    )
    data = ChartData(series=series.view(), marks=marks)
    for name, tracks, span, width, height in (
        ("all", LOSS, None, 160, 45),
        ("all", LOSS, None, 80, 24),
        ("last half", LOSS, records // 2, 160, 45),
        ("last 1,000", LOSS, 1_000, 160, 45),
        ("four tracks", FOUR, None, 160, 45),
    ):
        look = Look(viewport=Viewport(span=span), tracks=tracks)
        kept = Kept()
        first = median_ms(lambda: draw(data, look, UNICODE, width=width, height=height))  # noqa: B023
        print(f"{records:>9,}  first drawing of {name:<12} {width}x{height:<4} {first:8.2f} ms")
        for key, seconds in walk(data, look, kept, width, height).items():
            print(f"{records:>9,}  {key:<8} in {name:<18} {width}x{height:<4} {seconds:8.2f} ms")
    others = tuple(Other(name=f"run {number}", series=data.series) for number in range(3))
    for key, seconds in walk(replace(data, others=others), Look(), Kept(), 160, 45).items():
        print(f"{records:>9,}  {key:<8} with three runs over it  160x45 {seconds:8.2f} ms")
    look = Look(smoothing=0.98)
    took = median_ms(lambda: draw(data, look, UNICODE, width=160, height=45))
    print(f"{records:>9,}  smooth the whole run anew   {took:8.2f} ms")

    kept, new = Kept(), iter(range(records + 1, records + 10 * REPEATS))

    def smooth_on() -> None:
        series.append_many([next(new)], [2.0], [2.0])
        draw(ChartData(series=series.view()), look, UNICODE, width=160, height=45, kept=kept)

    smooth_on()
    print(f"{records:>9,}  draw a new record, smoothed  {median_ms(smooth_on):8.2f} ms")
    records = len(series)

    steps = iter(range(records + 1, records + 1 + REPEATS))
    took = median_ms(lambda: series.append_many([next(steps)], [2.0], [2.0]))
    print(f"{records:>9,}  append one new record      {took:8.3f} ms")
    values = iter(range(REPEATS))
    took = median_ms(lambda: series.append_many([records], [next(values)], [2.0]))
    print(f"{records:>9,}  replace one record         {took:8.3f} ms")


if __name__ == "__main__":
    for count in (1_000, 200_000, 1_000_000):
        measure(count)
