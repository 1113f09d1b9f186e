"""What counting the sources costs: `python -m tests.benchmarks.source_counts`."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from console.chart.series import Series
from console.ui.widgets.source_table import table_lines
from console.view.arm_counts import counted
from console.view.sources import SourceFacts, arms_at, sources_at
from tests.benchmarks.measure import Times, machine, show
from trainer.rundir.config.run_toml import parse_settings, render_new_run
from trainer.rundir.config.settings import SourceSettings

REPEATS = 20
CONTEXT = 1024


def history(records: int, n_arms: int) -> Series:
    """Arms drawn at random with unlike shares, in five phases."""
    chance, series = np.random.default_rng(0), Series()
    step = np.arange(1, records + 1)
    series.codes_of([f"arm {number}" for number in range(n_arms)])
    series.append_many(
        step,
        chance.normal(3, 0.1, records),
        np.full(records, 3.0),
        arm=np.minimum(chance.exponential(n_arms / 4, records), n_arms - 1).astype(int),
        phase=1 + (step - 1) * 5 // records,
        reward=chance.random(records),
        tokens=np.full(records, 524_288),
    )
    return series


def processor_time(call: Callable[[], object]) -> Times:
    times = Times()
    for _ in range(REPEATS):
        started = process_time()
        call()
        times.seconds.append(process_time() - started)
    return times


def measure(records: int, n_arms: int) -> list[list[str]]:
    """Rows of a table: from scratch, a record more, and a step that is chosen."""
    series = history(records, n_arms)
    sources = {name: SourceSettings(path="*.txt") for name in series.view().arms}
    settings = parse_settings(render_new_run("andrea-120m", sources))
    view = series.view()
    counts = counted(view, CONTEXT)
    series.append_many([records + 1], [3.0], [3.0], arm=[0], phase=[5], tokens=[524_288])
    grown = counted(series.view(), CONTEXT, counts)  # of arrays with room for more
    series.append_many([records + 2], [3.0], [3.0], arm=[0], phase=[5], tokens=[524_288])
    longer, step = series.view(), records // 2
    facts = SourceFacts(counts=counts, settings=dict.fromkeys(range(1, 6), settings))

    def draw() -> None:
        table_lines(arms_at(facts, step), [], sources_at(facts, step), width=156)

    calls: dict[str, Callable[[], object]] = {
        "count from scratch": lambda: counted(view, CONTEXT),
        "count one record more": lambda: counted(longer, CONTEXT, grown),
        "sources at a step": lambda: sources_at(facts, step),
        "bandit at a step": lambda: arms_at(facts, step),
        "both and their lines": draw,
    }
    head = [f"{records:,}", str(n_arms)]
    return [[*head, name, *processor_time(call).cells()] for name, call in calls.items()]


def main() -> None:
    print(machine())
    rows = [row for n in (200_000, 1_000_000) for arms in (5, 40) for row in measure(n, arms)]
    header = ["records", "arms", "what", "median", "least", "most"]
    show(f"Sources: processor time, {REPEATS} times", header, rows)


if __name__ == "__main__":
    main()
