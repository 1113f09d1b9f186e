"""The judge's marks: false alarms, ills found, the step they are told from, and what it costs."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from time import process_time

from console.health.judge import Judge, judge
from tests.benchmarks.histories import AT_ONCE, ILLS, History, first_of, history
from tests.benchmarks.measure import Times, duration, show

HEALTHY = 300
OF_EACH_ILL = 30
REPORTED = 1_000_000
"""First seed of what is reported; the rules were made on seeds below 10,000."""
SIZES = (20_000, 200_000, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a history with an ill in it."""

    ill: str
    is_found: bool
    is_told_first: bool
    distance: float
    """From the planted step to the one that is told first, as a share of the run."""

    @property
    def is_right(self) -> bool:
        return self.is_told_first and self.distance <= tolerance(self.ill)


def tolerance(ill: str) -> float:
    """How far the told step may lie off, as a share of the run."""
    return 0.02 if ill in AT_ONCE else 0.05


def health(options: Namespace) -> None:
    """False alarms of 300 healthy histories, finds of 300 ill ones, the step, the time."""
    show_healthy(range(REPORTED, REPORTED + HEALTHY))
    show_ills(range(REPORTED, REPORTED + OF_EACH_ILL))
    show_times(options.repeats)


def show_healthy(seeds: Iterable[int]) -> None:
    """What is said of healthy runs that is not `healthy`."""
    told = {seed: judge(history(seed).evidence) for seed in seeds}
    alarms = {seed: found for seed, found in told.items() if found.verdict != "healthy"}
    title = f"Health: {len(alarms)} false alarms in {len(told)} healthy histories"
    show(title, ["seed", "said"], [[str(seed), alarms[seed].headline] for seed in alarms])


def show_ills(seeds: Iterable[int]) -> None:
    """What is found of each kind of ill, and when it is said to have begun."""
    every = [outcome(history(seed, ill)) for ill in ILLS for seed in seeds]
    rows = []
    for ill in ILLS:
        outcomes = [each for each in every if each.ill == ill]
        rows.append([ill, f"{tolerance(ill):.0%}", *cells(outcomes)])
    rows.append(["all", "", *cells(every)])
    header = ["ill", "step within", "found", "told first", "step right", "off by, median", "most"]
    show(f"Health: {len(every)} histories with one planted ill", header, rows)


def outcome(planted: History) -> Outcome:
    """The judge's word on a history."""
    reasons = judge(planted.evidence).reasons
    offs = [abs(reason.since_step - planted.since_step) for reason in reasons]
    return Outcome(
        ill=planted.ill,
        is_found=any(reason.series in planted.series for reason in reasons),
        is_told_first=bool(reasons) and reasons[0].series in planted.series,
        distance=offs[0] / len(planted.evidence) if offs else 1.0,
    )


def cells(outcomes: list[Outcome]) -> list[str]:
    """Found, told first, step right, and how far the step is off."""
    n = len(outcomes)
    counts = [
        sum(each.is_found for each in outcomes),
        sum(each.is_told_first for each in outcomes),
        sum(each.is_right for each in outcomes),
    ]
    offs = sorted(each.distance for each in outcomes if each.is_told_first) or [1.0]
    shares = [f"{count} ({count / n:.0%})" for count in counts]
    return [*shares, f"{offs[len(offs) // 2]:.2%}", f"{offs[-1]:.1%}"]


def show_times(repeats: int) -> None:
    """A verdict from scratch, with 20 new records, and with nothing new."""
    rows = []
    for n in SIZES:
        evidence = history(7, "score", n).evidence
        before = first_of(evidence, n - 20)
        scratch, cpu, grown, again = Times(), Times(), Times(), Times()
        for _ in range(repeats):
            started = process_time()
            scratch.take(partial(judge, evidence))
            cpu.seconds.append(process_time() - started)
            judging = Judge()
            judging.judge(before)
            grown.take(partial(judging.judge, evidence))
            again.take(partial(judging.judge, evidence))
        row = [duration(times.median) for times in (scratch, cpu, grown, again)]
        rows.append([f"{n:,}", *row])
    header = ["records", "from scratch", "its CPU", "20 records more", "nothing new"]
    show("Health: time of a verdict, median", header, rows)
