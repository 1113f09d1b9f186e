"""The quit dialog: stop, detach or cancel; then the stop as it happens."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.screens.guarded import GuardedScreen
from console.ui.theme import ACCENT, AMBER, DIM, GOOD
from console.ui.widgets.header_lines import state_content
from console.ui.widgets.in_sight import TOO_SMALL, is_seen
from console.ui.widgets.text import foreign
from console.view.glance import Glance
from console.view.run_view import RunView


class Choice(StrEnum):
    """What can be chosen, the harmless default first."""

    STOP = "Stop training gracefully"
    DETACH = "Detach: leave it training"
    CANCEL = "Cancel"
    DETACH_NOW = "Detach now: let it finish by itself"


@dataclass(frozen=True, slots=True)
class _Stage:
    choices: tuple[Choice, ...]
    title: str


_ASKING = _Stage((Choice.STOP, Choice.DETACH, Choice.CANCEL), "Leave this run?")
_STOPPING = _Stage((Choice.DETACH_NOW,), "Stopping")


class QuitDialog(GuardedScreen):
    """Quiet at first and after each change of stage."""

    # Textual declares it as an instance variable.
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.QUIT)

    class StopChosen(Message):
        """The operator chose to stop the trainer."""

        def __init__(self, dialog: "QuitDialog") -> None:
            super().__init__()
            self.dialog = dialog

    class DetachChosen(Message):
        """The operator chose to leave the trainer alone."""

    class RunEnded(Message):
        """The trainer that was told to stop is gone."""

    cursor: reactive[int] = reactive(0)

    def __init__(self, view: RunView, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(monotonic=monotonic)
        self._view = view
        self._stage = _ASKING
        self._problem = ""
        self._newest_before: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="quit"):
            yield Static(id="quit-body", markup=False)
            yield Static(id="quit-choices", markup=False)
            yield Static(id="quit-hint", markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "glance", self._on_glance, init=False)
        self.begin_quiet()

    def watch_cursor(self) -> None:
        if self.is_mounted:
            self.draw_guarded()

    def action_move(self, by: int) -> None:
        """Mark the next choice."""
        self.cursor = (self.cursor + by) % len(self._stage.choices)

    def action_cancel(self) -> None:
        """Close the dialog."""
        self.dismiss()

    def action_choose(self) -> None:
        """Do what is marked, if it can be seen."""
        lines = self._choice_lines()
        if not is_seen(self.query_one("#quit-choices"), lines, 2 * self.cursor):
            self.notify(TOO_SMALL, severity="warning", markup=False)
            return
        choice = self._stage.choices[self.cursor]
        if choice is Choice.CANCEL:
            self.dismiss()
        elif choice is Choice.STOP:
            self._newest_before = self._view.newest.step if self._view.newest else None
            self._enter(_STOPPING)
            self.post_message(self.StopChosen(self))
        else:
            self.post_message(self.DetachChosen())

    def refuse(self, problem: str) -> None:
        """The stop could not be asked for: say why and offer the choices again."""
        self._problem = problem
        self._enter(_ASKING)

    def _enter(self, stage: _Stage) -> None:
        self._stage = stage
        self.set_reactive(QuitDialog.cursor, 0)
        self.begin_quiet()

    def _on_glance(self, glance: Glance) -> None:
        self._view = view = glance.view
        if self._stage is _STOPPING and not view.is_running:
            self.post_message(self.RunEnded())
        self.draw_guarded()

    def draw_guarded(self) -> None:
        """Draw everything: the choices are dim while keys don't count."""
        body = self._stopping_body() if self._stage is _STOPPING else self._asking_body()
        self.query_one("#quit").border_title = self._stage.title
        put(self.query_one("#quit-body", Static), body)
        put(self.query_one("#quit-choices", Static), self._choices())
        put(self.query_one("#quit-hint", Static), self._hint())

    def _asking_body(self) -> Content:
        view = self._view
        pid = f" (pid {view.pid})" if view.pid is not None else ""
        step = formatting.steps(view.step)
        lines = [
            Content.assemble((foreign(view.name), "bold"), "  ", state_content(view)),
            Content.styled(f"trainer{pid} at step {step}", DIM),
        ]
        if self._problem:
            lines.append(Content.styled(f" {foreign(self._problem)} ", AMBER))
        return Content("\n").join(lines)

    def _stopping_body(self) -> Content:
        view, newest = self._view, self._view.newest
        detail = foreign(view.status.detail)
        lines = [Content.assemble(state_content(view), f"  {detail}" if detail else "")]
        lines.append(Content.styled(f"step {formatting.steps(view.step)}", DIM))
        if newest is not None and newest.step != self._newest_before:
            text = f"✓ {newest.name} written, {formatting.size(newest.n_bytes)}"
            lines.append(Content.styled(text, GOOD))
        else:
            lines.append(Content.styled("the step is finished, then the checkpoint written", DIM))
        lines.append(Content.styled("The console closes when the trainer has ended.", DIM))
        return Content("\n").join(lines)

    def _choices(self) -> Content:
        return Content("\n").join(self._choice_lines())

    def _choice_lines(self) -> list[Content]:
        """Two lines a choice: what, and what it means."""
        is_open = self.guard.is_open
        lines = []
        for index, choice in enumerate(self._stage.choices):
            is_marked = index == self.cursor
            text = f"{'▸' if is_marked else ' '} {choice.value}"
            style = DIM if not is_open else f"bold {ACCENT}" if is_marked else ""
            lines.append(Content.styled(text, style))
            lines.append(Content.styled(f"    {_EXPLAINED[choice]}", DIM))
        return lines

    def _hint(self) -> Content:
        if not self.guard.is_open:
            return Content.styled("keys count in a moment", DIM)
        return Content.styled("↑ ↓ move   Enter choose   Esc close", DIM)


_EXPLAINED = {
    Choice.STOP: "finishes the step, saves, writes the sample, then ends",
    Choice.DETACH: "only the console closes; training goes on without it",
    Choice.CANCEL: "back to the dashboard; nothing changes",
    Choice.DETACH_NOW: "the trainer still saves and ends; the console closes",
}
