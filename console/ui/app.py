"""The console as a Textual app: wires follower, operations and screens, and decides nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.driver import Driver
from textual.reactive import var

from console.follow.follower import Clock
from console.fork.branches import Branches
from console.operations.actions import Place, refusals
from console.operations.protocol import Operations, Outcome
from console.pivot.wizard_files import WizardFiles
from console.ui import farewell, terminal
from console.ui.keys import bindings_at
from console.ui.messages import OperationEnded, RunChanged, RunUnreadable
from console.ui.screens.alarms import AlarmsScreen
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.help import HelpScreen
from console.ui.screens.note import NoteScreen
from console.ui.screens.quit_dialog import QuitDialog
from console.ui.screens.thin_dialog import ThinDialog
from console.ui.steering import SteeringApp
from console.ui.theme import TERMINAL
from console.ui.widgets.checkpoints import CheckpointsPane
from console.view.glance import Glance, Watcher
from console.view.machine import Machine
from console.view.run_view import Request, RequestStage, RunView
from trainer.rundir.checkpoints.retention import Plan


class ConsoleApp(SteeringApp):
    """Shows one run. Ends with its last words, which are for the terminal behind the screen."""

    TITLE = "andrea-console"
    CSS_PATH = Path(__file__).with_name("console.tcss")
    ENABLE_COMMAND_PALETTE = False
    # The terminal's own selection, with Shift held, copies to where the operator expects it.
    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.EVERYWHERE)

    machine: var[Machine | None] = var(None)
    """As it is shown: changes only by what a person would mind."""

    minute: var[int] = var(0)
    """The wall clock's minute: what is drawn from ages changes with it, not more often."""

    def __init__(
        self,
        watcher: Watcher,
        operations: Operations,
        files: WizardFiles,
        branching: Branches,
        changes: AsyncGenerator[object, None],
        *,
        clock: Clock | None = None,
        is_read_only: bool = False,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(
            files,
            branching,
            clock=clock or Clock(),
            is_read_only=is_read_only,
            driver_class=driver_class,
            # Known before the theme: by it Textual chooses how to honour NO_COLOR.
            ansi_color=TERMINAL.ansi,
        )
        self.register_theme(TERMINAL)
        self.theme = TERMINAL.name
        self.animation_level = "none"
        self._watcher = watcher
        self._operations = operations
        self._changes = changes
        self._looking = asyncio.Lock()
        self._is_leaving = False
        self._unreadable = ""
        """Why the run could not be looked at last, as it was told."""
        self._problem_told = ""
        """Why what was seen can't be remembered, as it was told."""
        self._stopping_pid: int | None = None
        """The trainer that was told to stop from here."""

    @property
    def view(self) -> RunView | None:
        return self.glance.view if self.glance else None

    def get_default_screen(self) -> Dashboard:
        return Dashboard(
            clock=self._clock.wall,
            offers=lambda action_id: not self.refusal(action_id),
            is_read_only=self._is_read_only,
        )

    def on_mount(self) -> None:
        self._follow()
        if not self._is_read_only:
            self.look_for_pivot()

    async def on_event(self, event: events.Event) -> None:
        """Every key passes here first, whatever it does then."""
        if isinstance(event, events.Key) and self.glance is not None:
            self.has_key = True
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing once the console leaves: what is typed ahead finds no screens to act on."""
        return not self._is_leaving

    @work(group="follow")
    async def _follow(self) -> None:
        """Look at the run after every change until the terminal is gone."""
        await self._look()
        async with aclosing(self._changes) as changes:
            async for _ in changes:
                if self._is_terminal_gone():
                    self.action_detach()
                    return
                await self._look()

    async def _look(self) -> None:
        async with self._looking:
            try:
                glance, machine = await asyncio.to_thread(self._glance_at_run)
            except Exception as error:  # noqa: BLE001 - this edge shows whatever went wrong
                self.post_message(RunUnreadable(f"{type(error).__name__}: {error}"))
                return
        if glance != self.glance:
            self.post_message(RunChanged(glance))
        self.machine = machine
        self.minute = int(self._clock.wall() // 60)

    def _glance_at_run(self) -> tuple[Glance, Machine]:
        return self._watcher.look(), self._watcher.look_at_machine()

    def _is_terminal_gone(self) -> bool:
        return not self.is_headless and terminal.is_gone(0)

    def on_run_changed(self, event: RunChanged) -> None:
        before, self.glance, self._unreadable = self.view, event.glance, ""
        view = event.glance.view
        if self._watcher.problem != self._problem_told:
            self._problem_told = self._watcher.problem
            self.tell(self._problem_told, is_ok=False)
        if before is None or refusals(before) != refusals(view):
            self.refresh_bindings()
        if before is not None and view.request is not None and view.request != before.request:
            self._answer(view.request)

    def on_run_unreadable(self, event: RunUnreadable) -> None:
        if event.reason != self._unreadable:
            self.tell(f"the run can't be read: {event.reason}", is_ok=False)
        self._unreadable = event.reason

    def on_operation_ended(self, event: OperationEnded) -> None:
        request = self.view.request if self.view else None
        if request is None or request.stage is not RequestStage.REQUESTED or not event.ok:
            self.tell(event.message, is_ok=event.ok)

    def _answer(self, request: Request) -> None:
        """Say what became of a checkpoint that was asked for; the header says that it was."""
        if request.stage is not RequestStage.REQUESTED:
            self.tell(request.message, is_ok=request.stage is RequestStage.WRITTEN)

    @work(group="operations")
    async def _operate(self, operation: Callable[[], Outcome]) -> None:
        outcome = await asyncio.to_thread(operation)
        await self._look()
        self.post_message(OperationEnded(outcome.ok, outcome.message))

    def action_checkpoint(self) -> None:
        """Ask for a checkpoint, at once."""
        if self.may("run.checkpoint"):
            self._operate(self._operations.checkpoint)

    def action_resume(self) -> None:
        """Start the trainer."""
        if self.may("run.resume"):
            self._operate(self._operations.launch)

    def on_checkpoints_pane_thin_asked(self, event: CheckpointsPane.ThinAsked) -> None:
        if self.may("checkpoints.thin"):
            self._preview_thinning(event.steps)

    def on_checkpoints_pane_pin_wanted(self, event: CheckpointsPane.PinWanted) -> None:
        if self.may("checkpoints.pin"):
            operate = self._operations.pin if event.is_pinned else self._operations.unpin
            self._operate(partial(operate, event.steps))

    def on_checkpoints_pane_note_wanted(self, event: CheckpointsPane.NoteWanted) -> None:
        if not self.may("checkpoints.note"):
            return
        steps = event.steps

        def take(note: str | None) -> None:
            if note is not None:
                self._operate(lambda: self._operations.pin(steps, note))

        self.push_screen(NoteScreen(steps, event.note), take)

    @work(group="operations")
    async def _preview_thinning(self, steps: tuple[int, ...]) -> None:
        found = await asyncio.to_thread(self._operations.preview_thinning, steps)
        if not isinstance(found, Plan):
            self.tell(found.message, is_ok=found.ok)
        elif isinstance(self.screen, Dashboard):
            self.push_screen(ThinDialog(found, monotonic=self._clock.monotonic))

    @work(group="operations")
    async def on_thin_dialog_deletion_chosen(self, event: ThinDialog.DeletionChosen) -> None:
        outcome = await asyncio.to_thread(self._operations.thin, event.plan)
        self.tell(outcome.message, is_ok=outcome.ok)
        await self._look()

    def action_ask_quit(self) -> None:
        """Ask what shall become of the trainer; with nothing to decide, leave."""
        view = self.view
        if view is None or not view.is_running or self._is_read_only:
            self.action_detach()
        else:
            self.push_screen(QuitDialog(view, monotonic=self._clock.monotonic))

    @work(group="alarms")
    async def on_alarms_screen_acknowledged(self, event: AlarmsScreen.Acknowledged) -> None:
        await asyncio.to_thread(self._watcher.acknowledge, event.alarms)
        await self._look()

    def on_quit_dialog_stop_chosen(self, event: QuitDialog.StopChosen) -> None:
        self._stop(event.dialog)

    @work(group="operations")
    async def _stop(self, dialog: QuitDialog) -> None:
        pid = self.view.pid if self.view else None
        outcome = await asyncio.to_thread(self._operations.stop)
        if outcome.ok:
            self._stopping_pid = pid
        elif dialog.is_attached:
            dialog.refuse(outcome.message)
        await self._look()

    def on_quit_dialog_detach_chosen(self) -> None:
        self.action_detach()

    def on_quit_dialog_run_ended(self) -> None:
        if self.view is not None:
            self._leave(farewell.stopped(self.view))

    def action_detach(self) -> None:
        """Leave; the trainer isn't touched."""
        view = self.view
        is_stopping = view is not None and view.pid is not None and view.pid == self._stopping_pid
        self._leave(farewell.detached(view, is_stopping=is_stopping))

    def _leave(self, words: str) -> None:
        self._is_leaving = True
        self.exit(words)

    def action_toggle_dates(self) -> None:
        """Show times as dates, or as ages again."""
        self.is_dated = not self.is_dated

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen(is_read_only=self._is_read_only))
