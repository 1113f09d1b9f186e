"""The app's part that wires pivots and forks to their screens, and decides nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from textual import events, work
from textual.app import SuspendNotSupported
from textual.driver import Driver
from textual.keys import format_key
from textual.reactive import var

from console.follow.follower import Clock
from console.fork.branches import Asked, Branches
from console.fork.comparison_chart import read_side_by_side
from console.fork.grown import Grown
from console.operations.actions import action_of
from console.pivot.timeline import Timeline
from console.pivot.wizard_files import WizardFiles, walk_pivot
from console.process.launch import run_in_terminal
from console.ui.asking import AskingApp
from console.ui.messages import StepChosen
from console.ui.screens.family import FamilyScreen
from console.ui.screens.fork.branch_table import BranchTable
from console.ui.screens.fork.branches import BranchesScreen
from console.ui.screens.fork.compare import CompareScreen
from console.ui.screens.fork.fork import ForkScreen
from console.ui.screens.guarded import GuardedScreen
from console.ui.screens.pivot.progress import ProgressScreen
from console.ui.screens.pivot.wizard import WizardScreen
from console.ui.widgets.checkpoints import CheckpointsPane
from console.ui.widgets.log_tail import LogPane
from console.view.glance import Glance
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import Pivot, Stage

_HINT_SECONDS = 5.0
"""As long as a passing note stays."""


class SteeringApp(AskingApp):
    """Walks a pivot and grows branches for as long as the console is open, on any screen."""

    glance: var[Glance | None] = var(None)
    has_key: var[bool] = var(False)
    """Whether a key was pressed since the run was on the screen."""
    is_dated: var[bool] = var(False)
    """Whether times are shown as dates, and not as ages."""
    timeline: var[Timeline | None] = var(None)
    """Of the pivot that this console has walked last, or walks."""
    branches: var[tuple[Grown, ...]] = var(())
    """That this console has made last, or makes."""

    def __init__(
        self,
        files: WizardFiles,
        branching: Branches,
        *,
        clock: Clock,
        is_read_only: bool,
        driver_class: type[Driver] | None,
        ansi_color: bool,
    ) -> None:
        super().__init__(branching.run, driver_class=driver_class, ansi_color=ansi_color)
        self._files = files
        self._branching = branching
        self._clock = clock
        self._is_read_only = is_read_only
        self._hints_from = 0.0
        """From this moment on a key that does nothing is told of, monotonic."""
        self._is_lent = False
        """Whether another program has the terminal."""

    def on_key(self, event: events.Key) -> None:
        """A key that went to a widget below a guarded screen just before that opened; or one that
        nothing took: what helps is told, once for a storm of them.
        """
        screen = self.screen
        if isinstance(screen, GuardedScreen):
            screen.on_key(event)
            if not screen.guard.is_open:
                return
        now = self._clock.monotonic()
        if event.key not in screen.active_bindings and now >= self._hints_from:
            self._hints_from = now + _HINT_SECONDS
            self.tell(f"{format_key(event.key)} does nothing here; {self._help()}", is_ok=True)

    def _help(self) -> str:
        """Where the keys of this screen are told."""
        known = self.screen.active_bindings.get("question_mark")
        has_help = known is not None and known.binding.action.removeprefix("app.") == "help"
        return "? shows all keys" if has_help else "the line at the bottom tells the keys"

    def refusal(self, action_id: str) -> str:
        """Why an action can't be done now, for a person; empty if it can."""
        view = self.glance.view if self.glance else None
        return action_of(action_id).refusal(view, is_read_only=self._is_read_only)

    def may(self, action_id: str) -> bool:
        """Whether an action can be done now; tells why not."""
        why_not = self.refusal(action_id)
        if why_not:
            self.tell(why_not, is_ok=True)
        return not why_not

    def action_pivot(self) -> None:
        """Open the pivot wizard, or show the pivot under way."""
        if not self.may("run.pivot"):
            return
        if self._is_walking:
            self._show_pivot(None)
        else:
            self.push_screen(WizardScreen(self._files, monotonic=self._clock.monotonic))

    @property
    def _is_walking(self) -> bool:
        return self.timeline is not None and not (self.timeline.is_over or self.timeline.problem)

    @work(group="pivot-files")
    async def look_for_pivot(self) -> None:
        """At the start: a pivot that was left under way is shown first."""
        try:
            found = await asyncio.to_thread(self._files.pending)
        except (RunError, OSError) as error:
            self.tell(str(error), is_ok=False)
            return
        if found is not None:
            self._show_pivot(found)

    def _show_pivot(self, found: tuple[Pivot, Timeline] | None) -> None:
        """In place of the wizard, or of what was found by another way, if that is open."""
        screen = ProgressScreen(self._files, found=found, monotonic=self._clock.monotonic)
        if isinstance(self.screen, WizardScreen | ProgressScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def on_wizard_screen_pivot_found(self, event: WizardScreen.PivotFound) -> None:
        self._show_pivot(event.found)

    def on_wizard_screen_requested(self, event: WizardScreen.Requested) -> None:
        self._walk(event.timeline)
        self._show_pivot(None)

    def on_progress_screen_walk_wanted(self, event: ProgressScreen.WalkWanted) -> None:
        self._walk(event.timeline)

    def on_progress_screen_rolled_back(self, event: ProgressScreen.RolledBack) -> None:
        self.timeline = None
        if isinstance(self.screen, ProgressScreen):
            self.screen.dismiss()
        self.tell(event.words, is_ok=True)

    @work(group="pivot", exclusive=True)
    async def _walk(self, timeline: Timeline) -> None:
        try:
            await walk_pivot(self._files.pivots, timeline, self._hear)
        except Exception as error:  # noqa: BLE001 - this edge shows whatever went wrong
            self._hear((self.timeline or timeline).halted(f"{type(error).__name__}: {error}"))

    def _hear(self, timeline: Timeline) -> None:
        self.timeline = timeline
        if isinstance(self.screen, ProgressScreen):
            return
        if timeline.is_over:
            self.tell(f"pivot: {timeline.facts[Stage.RESTARTED]}", is_ok=True)
        elif timeline.problem:
            self.tell(f"pivot: {timeline.problem}; p offers what can be done", is_ok=False)

    def on_checkpoints_pane_tree_asked(self) -> None:
        screen = FamilyScreen(self._branching.family, clock=self._clock.wall)
        self.push_screen(screen, self._go_to)

    def _go_to(self, step: int | None) -> None:
        if step is not None:
            self.screen.post_message(StepChosen(step))

    def on_checkpoints_pane_fork_wanted(self, event: CheckpointsPane.ForkWanted) -> None:
        if self.may("checkpoints.fork"):
            self._open_fork(event.step)

    @work(group="fork-files", exclusive=True)
    async def _open_fork(self, step: int) -> None:
        if any(not branch.is_done for branch in self.branches):
            self._show_branches()
            return
        try:
            rows = await asyncio.to_thread(self._branching.rows, ())
        except OSError as error:
            self.tell(str(error), is_ok=False)
            return
        every = (self.glance.view.checkpoint_every if self.glance else None) or 100
        screen = ForkScreen(
            self._branching.run.name,
            step,
            every,
            n_branches=len(rows) - 1,
            monotonic=self._clock.monotonic,
        )
        self.push_screen(screen)

    def _show_branches(self) -> None:
        """In place of the fork screen, if that is open."""
        screen = BranchesScreen(
            self._branching.run.name,
            lambda: self._branching.rows(self.branches),
            monotonic=self._clock.monotonic,
        )
        if isinstance(self.screen, ForkScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    @work(group="fork-files", exclusive=True)
    async def on_fork_screen_memory_wanted(self, event: ForkScreen.MemoryWanted) -> None:
        try:
            needs = await asyncio.to_thread(self._branching.memory_needs)
        except (RunError, OSError) as error:
            self.tell(str(error), is_ok=False)
            needs = ()
        if event.screen.is_attached:
            event.screen.ask(needs)

    def on_fork_screen_branches_wanted(self) -> None:
        self._show_branches()

    def on_fork_screen_fork_wanted(self, event: ForkScreen.ForkWanted) -> None:
        self._grow(event.asked)
        self._show_branches()

    @work(group="fork", exclusive=True)
    async def _grow(self, asked: Asked) -> None:
        growing = self._branching.grow(asked)
        try:
            while (grown := await asyncio.to_thread(next, growing, None)) is not None:
                self.branches = grown
        except Exception as error:  # noqa: BLE001 - this edge shows whatever went wrong
            self._fork_failed(error)
        else:
            if not isinstance(self.screen, BranchesScreen):
                names = " and ".join(branch.name for branch in self.branches)
                self.tell(f"{names} are through; f on a checkpoint lists them", is_ok=True)

    def _fork_failed(self, error: Exception) -> None:
        words = str(error) if isinstance(error, RunError | OSError) else repr(error)
        self.branches = tuple(branch.given_up(words) for branch in self.branches)
        self.tell(f"fork: {words}", is_ok=False)

    def on_branch_table_compare_wanted(self, event: BranchTable.CompareWanted) -> None:
        first, second = RunDirectory(event.first), RunDirectory(event.second)
        names = (first.name, second.name)
        self.push_screen(CompareScreen(names, lambda: read_side_by_side(first, second)))

    @work(group="operations")
    async def on_branch_table_stop_wanted(self, event: BranchTable.StopWanted) -> None:
        outcome = await asyncio.to_thread(self._branching.stop, event.path)
        self.tell(f"{event.path.name}: {outcome.message}", is_ok=outcome.ok)

    def on_branch_table_open_wanted(self, event: BranchTable.OpenWanted) -> None:
        self._lend_terminal("a console", partial(self._branching.open, event.path))

    def on_log_pane_pager_wanted(self, event: LogPane.PagerWanted) -> None:
        self._lend_terminal("a pager", partial(run_in_terminal, event.command))

    @work(group="terminal")
    async def _lend_terminal(self, what: str, run: Callable[[], Awaitable[str]]) -> None:
        """Another program has the terminal until it ends; this one goes on unseen meanwhile.

        Leaving cancels this, which ends the other program.
        """
        if self._is_lent:
            return
        self._is_lent = True
        try:
            with self.suspend():
                refusal = await run()
        except SuspendNotSupported:
            refusal = f"{what} needs a real terminal"
        finally:
            self._is_lent = False
        if refusal:
            self.tell(refusal, is_ok=False)
        self.refresh()
