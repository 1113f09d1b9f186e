"""Times, their spread, and tables of them."""

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter


def machine() -> str:
    """Processor, cores and load: what a figure depends on."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    name = names[0] if names else platform.processor()
    return (
        f"{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} in the last minute,"
        f" Python {platform.python_version()}"
    )


class Times:
    """Repeated measurements of one thing, in seconds."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self.seconds = list(seconds)

    def take(self, call: Callable[[], object]) -> None:
        """Add the wall time of a call."""
        started = perf_counter()
        call()
        self.seconds.append(perf_counter() - started)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    def cells(self) -> list[str]:
        """Median, least and greatest, for a table."""
        return [duration(self.median), duration(self.least), duration(max(self.seconds))]


def duration(seconds: float) -> str:
    """In the unit that leaves a few digits."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def side_by_side(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Each call in turn, again and again, so that what else the machine does strikes all alike."""
    times = {name: Times() for name in calls}
    names = list(calls)
    for turn in range(repeats):
        for index in range(len(names)):
            name = names[(turn + index) % len(names)]
            times[name].take(calls[name])
    return times


def show(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
