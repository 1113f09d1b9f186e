"""Two runs for the compare screen: what `compare` says of them, and their curves in one chart."""

import math
from dataclasses import dataclass

from console.chart.chart_data import ChartData
from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.fork.comparison import Comparison, Side, compare, read_side
from console.process.child import in_child
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.records.record_fields import number

_LEAD_SHARE = 4
"""Of the steps since the runs parted, a quarter as many before that are shown too."""

_OWN = ("optimizer.", "train.")
"""Settings that are told first: most often they are what is tried."""

Curves = tuple[list[int], list[float], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Everything that the compare screen shows."""

    comparison: Comparison
    curves: Curves
    """Steps, and of each the smoothed training loss of the first and of the second run."""

    def chart(self) -> ChartData:
        """Both curves over the same steps."""
        series = Series()
        series.append_many(*self.curves)
        first, second = (column.name for column in self.comparison.columns[:2])
        return ChartData(series=series.view(), names=(first, second), marks=(self._parting(),))

    def _parting(self) -> Mark:
        """Where the runs part, with the settings that differ."""
        differences = self.comparison.differences.items()
        values = [
            f"{name.rpartition('.')[2]} {' | '.join(map(str, of_both))}"
            for name, of_both in sorted(differences, key=lambda item: not item[0].startswith(_OWN))
        ]
        label = ": ".join(part for part in ("parted", ", ".join(values)) if part)
        step = self.comparison.parted_after + 1
        return Mark(step=step, label=label, kind=MarkKind.SETTINGS)


def read_side_by_side(first: RunDirectory, second: RunDirectory) -> SideBySide:
    """Read and compare in a process of its own; raises `RunError` or `OSError`."""
    for run in (first, second):
        if not run.settings.exists():
            raise SettingsError(f"{run.path}: there is no run")
    return in_child(_read, first, second)


def _read(first: RunDirectory, second: RunDirectory) -> SideBySide:
    sides = (read_side(first), read_side(second))
    comparison = compare(sides)
    return SideBySide(comparison=comparison, curves=_curves(sides, comparison))


def _curves(sides: tuple[Side, Side], comparison: Comparison) -> Curves:
    last, parted = comparison.last_step, comparison.parted_after
    begin = parted - max((last - parted) // _LEAD_SHARE, 1)
    steps = [step for step in range(max(begin, 1), last + 1) if step in sides[0].history]
    curves = [
        [_known(number(side.history.get(step, {}), "ema")) for step in steps] for side in sides
    ]
    return steps, curves[0], curves[1]


def _known(value: float | None) -> float:
    return math.nan if value is None else value
