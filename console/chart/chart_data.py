"""What the chart shows, and how the operator wants it shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from console.chart.axis import Scale
from console.chart.grid import Unit
from console.chart.series import Series, SeriesView, Steps, Values
from console.chart.step_marks import Mark
from console.chart.track import AnyTrack, Track
from console.chart.viewport import Extent, Viewport


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Points:
    """Values at some steps; both arrays have shape (n,), `step` is ascending."""

    name: str
    """May be foreign text."""
    step: Steps
    value: Values


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Other:
    """Another run that is laid over this one, at one moment."""

    name: str
    """Foreign text."""
    series: SeriesView = field(default_factory=Series().view)
    stride: int = 1
    """Of a long one every so manieth step is kept."""
    points: Mapping[Track, tuple[Points, ...]] = field(default_factory=dict)
    """As of this run's."""


@dataclass(frozen=True, kw_only=True)
class ChartData:
    """All that the chart shows; equal only if it holds the same view of a series."""

    series: SeriesView = field(default_factory=Series().view)
    marks: tuple[Mark, ...] = ()
    names: tuple[str, str] | None = None
    """Two runs, foreign text, whose curves the series holds in place of loss and EMA."""
    points: Mapping[Track, tuple[Points, ...]] = field(default_factory=dict)
    """Of the tracks that not each step has a value of."""
    fields: tuple[Points, ...] = ()
    """Of the tracks that only the run's own trainer knows, those that were asked for."""
    others: tuple[Other, ...] = ()
    """Runs that are drawn over this one."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the operator wants it shown."""

    scale: Scale = Scale.LOG
    viewport: Viewport = field(default_factory=Viewport)
    unit: Unit = Unit.STEP
    smoothing: float | None = None
    """Of `STRENGTHS`; `None`: the EMA that the record brings."""
    tracks: tuple[AnyTrack, ...] = (Track.LOSS,)
    cursor: int | None = None
    """A step that the history has; `None`: the newest is read."""
    typed: str | None = None
    """Digits of a step to go to, while they are typed."""
    band: tuple[int, int] | None = None
    """Columns from and to which the mouse is being drawn."""


def run_of(view: SeriesView) -> Extent:
    """The first and the last step of a history that is not empty."""
    return Extent(int(view.step[0]), int(view.step[-1]))
