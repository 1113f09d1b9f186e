"""What the wizard asks of the run's files; each call may block and belongs into a thread."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from console.pivot_plan import Check, Plan, check_preconditions, make_plan
from console.pivot_story import Story, story_of
from console.pivot_words import Progress
from console.ports import Outcome
from console.run_view import RunView
from trainer.rundir.layout import RunDirectory
from trainer.rundir.pivot import HoldMode, Pivot, read_pivot
from trainer.rundir.policy_file import PolicyChange, anchored
from trainer.rundir.run_toml import load_settings
from trainer.rundir.settings import Settings, SourceSettings
from trainer.rundir.source_size import SourceSize, measure_source
from trainer.rundir.state import ArmState, read_state


class Pivots(Protocol):
    """Does a pivot; see `console.pivoting.Pivoting`."""

    @property
    def run(self) -> RunDirectory: ...
    def request(self, plan: Plan) -> Progress: ...
    def walk(self) -> Iterator[Progress]: ...
    def roll_back(self) -> Outcome: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a pivot starts from."""

    settings: Settings
    arms: Mapping[str, ArmState]
    """The bandit as it stands."""


class PivotDesk:
    """A run and its pivots, from the folder in which the console was started."""

    def __init__(self, pivots: Pivots, folder: Path) -> None:
        self.pivots = pivots
        self.run = pivots.run
        self.folder = folder
        """Where relative paths of new sources begin."""

    def ground(self) -> Ground:
        """Raises `SettingsError` or `OSError`."""
        state = read_state(self.run.state)
        settings = load_settings(self.run.settings)
        return Ground(settings=settings, arms=state.arms if state is not None else {})

    def checks(self, view: RunView, ground: Ground) -> tuple[Check, ...]:
        """The preconditions as they are now."""
        return check_preconditions(self.run, view, ground.settings.audit.threshold)

    def anchored(self, path: str) -> SourceSettings:
        """The source at a path that was typed here; raises `SettingsError` for an empty one."""
        return anchored(SourceSettings(path=path), self.folder)

    def measure(self, source: SourceSettings) -> SourceSize:
        """Read a source; raises `SourceError` that says what is wrong with it, or `OSError`."""
        return measure_source(self.run, source)

    def plan(self, change: PolicyChange, mode: HoldMode, ground: Ground) -> Plan:
        """Raises `SettingsError` that names the key, or `OSError`."""
        return make_plan(self.run, change, mode, ground.arms)

    def pending(self) -> tuple[Pivot, Story] | None:
        """The pivot under way, and how far it has come; raises `RunError` or `OSError`."""
        pivot = read_pivot(self.run.pivot)
        if pivot is None:
            return None
        every = load_settings(self.run.settings).checkpoint.every
        return pivot, story_of(pivot, every)
