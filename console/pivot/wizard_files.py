"""What the wizard asks of the run's files; each call may block and belongs into a thread."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from console.operations.protocol import Outcome
from console.pivot.facts import Progress
from console.pivot.plan import Check, Plan, check_preconditions, make_plan
from console.pivot.timeline import Timeline, timeline_of
from console.view.run_view import RunView
from trainer.rundir.config.policy_change import PolicyChange, anchored
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import Settings, SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import HoldMode, Pivot, read_pivot
from trainer.rundir.sources.source_size import SourceSize, measure_source
from trainer.rundir.state import ArmState, read_state


class Pivots(Protocol):
    """Does a pivot; see `console.pivot.driver.PivotDriver`."""

    @property
    def run(self) -> RunDirectory: ...
    def request(self, plan: Plan) -> Progress: ...
    def walk(self) -> Iterator[Progress]: ...
    def roll_back(self) -> Outcome: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingPoint:
    """What a pivot starts from."""

    settings: Settings
    arms: Mapping[str, ArmState]
    """The bandit as it stands."""


class WizardFiles:
    """A run and its pivots, from the folder in which the console was started."""

    def __init__(self, pivots: Pivots, folder: Path) -> None:
        self.pivots = pivots
        self.run = pivots.run
        self.folder = folder
        """Where relative paths of new sources begin."""

    def starting_point(self) -> StartingPoint:
        """Raises `SettingsError` or `OSError`."""
        state = read_state(self.run.state)
        settings = load_settings(self.run.settings)
        return StartingPoint(settings=settings, arms=state.arms if state is not None else {})

    def checks(self, view: RunView, starting_point: StartingPoint) -> tuple[Check, ...]:
        """The preconditions as they are now."""
        return check_preconditions(self.run, view, starting_point.settings.audit.threshold)

    def anchored(self, path: str) -> SourceSettings:
        """The source at a path that was typed here; raises `SettingsError` for an empty one."""
        return anchored(SourceSettings(path=path), self.folder)

    def measure(self, source: SourceSettings) -> SourceSize:
        """Read a source; raises `SourceError` that says what is wrong with it, or `OSError`."""
        return measure_source(self.run, source)

    def plan(self, change: PolicyChange, mode: HoldMode, starting_point: StartingPoint) -> Plan:
        """Raises `SettingsError` that names the key, or `OSError`."""
        return make_plan(self.run, change, mode, starting_point.arms)

    def pending(self) -> tuple[Pivot, Timeline] | None:
        """The pivot under way, and how far it has come; raises `RunError` or `OSError`."""
        pivot = read_pivot(self.run.pivot)
        return None if pivot is None else (pivot, timeline_of(pivot))


async def walk_pivot(pivots: Pivots, timeline: Timeline, tell: Callable[[Timeline], None]) -> None:
    """Go on from `timeline` to the pivot's end, or to where it halts; tells each that is new.

    Given up at any moment, the pivot's journal knows where to go on.
    """
    tell(timeline)
    walk = pivots.walk()
    try:
        while (progress := await asyncio.to_thread(next, walk, None)) is not None:
            before, timeline = timeline, timeline.after(progress)
            if timeline != before:
                tell(timeline)
    except (RunError, OSError) as error:
        tell(timeline.halted(str(error)))
