"""The thin dialog: shows which checkpoints would go and why the others stay, and asks."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import FramedScreen
from console.ui.theme import AMBER, DIM
from console.ui.widgets.choices import Choice, Choices
from console.ui.widgets.line_view import LineView
from trainer.rundir.checkpoints.retention import Plan

_DELETE = "delete"
_CHOICES = (
    Choice(key="cancel", text="Cancel", explained="nothing goes"),
    Choice(key=_DELETE, text="Delete them", explained="deleted files can't be had back"),
)


class ThinDialog(FramedScreen):
    """Quiet at first; Cancel is marked at the beginning."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.THIN)

    class DeletionChosen(Message):
        """The operator chose to delete what the plan lets go."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    def __init__(self, plan: Plan, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__("Thin the checkpoints", monotonic=monotonic)
        self._plan = plan

    def compose_body(self) -> ComposeResult:
        yield LineView(id="thin-steps")
        yield Choices(id="thin-choices")

    def on_mount(self) -> None:
        lines = plan_lines(self._plan)
        view = self.query_one(LineView)
        view.can_focus = False
        view.show_lines(len(lines), lines.__getitem__)
        self.query_one(Choices).offer(_CHOICES)
        self.begin_quiet()

    def head(self) -> Content:
        going, kept = len(self._plan.going), len(self._plan.kept)
        return Content.assemble(
            (f"{going:,} of {going + kept:,} checkpoints would go", "bold"),
            f", which frees {formatting.size(self._plan.freed_bytes)}",
        )

    def words(self) -> str:
        return (
            "By checkpoint.keep_last and checkpoint.keep_every in run.toml; what others need stays."
        )

    def keys(self) -> str:
        return "↑ ↓ move   Enter choose   PgUp PgDn scroll   Esc close"

    def enter(self) -> None:
        """Take the focus."""
        self.set_focus(self.query_one(Choices))

    def action_scroll(self, by: int) -> None:
        """Show the steps a screenful on or back."""
        view = self.query_one(LineView)
        view.scroll_relative(y=by * max(view.rows_in_sight, 1), animate=False)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        if not self.guard.lets_through():
            return
        if event.key == _DELETE:
            self.post_message(self.DeletionChosen(self._plan))
        self.dismiss()


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
