"""The thin dialog: shows which checkpoints would go and why the others stay, and asks."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from console import formatting
from console.screens.guarded import GuardedScreen
from console.theme import ACCENT, AMBER, DIM
from console.widgets.line_view import LineView
from trainer.rundir.retention import Plan

_CHOICES = ("Cancel", "Delete them")
_DELETE = 1


class ThinDialog(GuardedScreen):
    """Quiet at first; Cancel is marked at the beginning."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k,shift+tab", "move(-1)", "Up", id="thin.up", tooltip="The choice above"),
        Binding("down,j,tab", "move(1)", "Down", id="thin.down", tooltip="The choice below"),
        Binding("enter", "choose", "Choose", id="thin.choose", tooltip="Do what is marked"),
        Binding("escape", "cancel", "Cancel", id="thin.cancel", tooltip="Close; nothing goes"),
        Binding("pageup", "scroll(-1)", "Page up", id="thin.page_up", tooltip="Steps before"),
        Binding("pagedown", "scroll(1)", "Page down", id="thin.page_down", tooltip="More steps"),
    ]

    class DeletionChosen(Message):
        """The operator chose to delete what the plan lets go."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    cursor: reactive[int] = reactive(0)

    def __init__(self, plan: Plan, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(monotonic=monotonic)
        self._plan = plan

    def compose(self) -> ComposeResult:
        with Vertical(id="thin") as box:
            box.border_title = "Thin the checkpoints"
            yield Static(_summary(self._plan), id="thin-summary", markup=False)
            yield LineView(id="thin-steps")
            yield Static(id="thin-choices", markup=False)
            yield Static(id="thin-hint", markup=False)

    def on_mount(self) -> None:
        lines = plan_lines(self._plan)
        view = self.query_one(LineView)
        view.can_focus = False
        view.show_lines(len(lines), lines.__getitem__)
        self.begin_quiet()

    def watch_cursor(self) -> None:
        if self.is_mounted:
            self.draw_guarded()

    def action_move(self, by: int) -> None:
        """Mark the next choice."""
        self.cursor = (self.cursor + by) % len(_CHOICES)

    def action_scroll(self, by: int) -> None:
        """Show the steps a screenful on or back."""
        view = self.query_one(LineView)
        view.scroll_relative(y=by * max(view.rows_in_sight, 1), animate=False)

    def action_cancel(self) -> None:
        """Close the dialog."""
        self.dismiss()

    def action_choose(self) -> None:
        """Do what is marked."""
        if self.cursor == _DELETE:
            self.post_message(self.DeletionChosen(self._plan))
        self.dismiss()

    def draw_guarded(self) -> None:
        """Draw the choices, which are dim while keys don't count."""
        is_open = self.guard.is_open
        lines = []
        for index, choice in enumerate(_CHOICES):
            is_marked = index == self.cursor
            style = DIM if not is_open else f"bold {ACCENT}" if is_marked else ""
            lines.append(Content.styled(f"{'▸' if is_marked else ' '} {choice}", style))
        self.query_one("#thin-choices", Static).update(Content("\n").join(lines))
        keys = "↑ ↓ move   Enter choose   PgUp PgDn scroll   Esc close"
        hint = keys if is_open else "keys count in a moment"
        self.query_one("#thin-hint", Static).update(Content.styled(hint, DIM))


def _summary(plan: Plan) -> Content:
    going, kept = len(plan.going), len(plan.kept)
    return Content.assemble(
        (f"{going:,} of {going + kept:,} checkpoints would go", "bold"),
        f", which frees {formatting.size(plan.freed_bytes)}\n",
        ("Deleted files can't be had back.", AMBER),
    )


def plan_lines(plan: Plan) -> list[Content]:
    """One line a checkpoint, the newest first: what becomes of it, and why it stays."""
    going = {checkpoint.step: formatting.size(checkpoint.n_bytes) for checkpoint in plan.going}
    lines = []
    for step in sorted({*going, *plan.kept}, reverse=True):
        name = f"{formatting.steps(step):>11}  "
        if step in going:
            lines.append(Content.assemble(name, (f"goes   {going[step]}", AMBER)))
        else:
            lines.append(Content.assemble(name, "stays  ", (plan.kept[step], DIM)))
    return lines
