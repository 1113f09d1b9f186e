"""Step 4: everything that will happen, and the run's name typed by hand."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from console import formatting
from console.operations.actions import Place
from console.pivot.plan import Plan, ends_at_checkpoint
from console.ui.input_guard import InputGuard
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.screens.pivot.step import Step, wrapped
from console.ui.theme import AMBER, DIM, GOOD, RED
from console.ui.widgets.fields import ConfirmField
from console.ui.widgets.in_sight import TOO_SMALL, is_seen
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign
from console.view.run_view import RunView
from trainer.rundir.names import escape_control
from trainer.rundir.pivot.journal import HoldMode, next_boundary

_PASTED = "a paste is not taken: type the name by hand"
_TOO_QUICK = "that came too quickly: press Enter once more"


class Review(Step):
    """What is done, what stays, the diff; Enter counts only a moment after the last letter."""

    WORDS = "This is all that the pivot will do. Read it; until you confirm it nothing is changed."
    KEYS = "type the name, then Enter   ↑ ↓ scroll   Ctrl+← back   Esc erase, cancel"
    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.WIZARD_REVIEW)

    class Confirmed(Message):
        """The run's name was typed: do it."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    def __init__(self, name: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id="pivot-review")
        self._run_name = name
        self._guard = InputGuard(monotonic)
        self._plan: Plan | None = None
        self._view: RunView | None = None

    def compose(self) -> ComposeResult:
        yield LineView(id="pivot-plan")
        yield Static(self._label(), id="pivot-confirm-label", markup=False)
        yield ConfirmField(id="pivot-confirm", placeholder="the run's name")
        yield Static(id="pivot-confirm-problem", markup=False)

    def enter(self) -> None:
        """Take the focus, with nothing typed."""
        self.query_one(LineView).scroll_home(animate=False)
        field = self.query_one(ConfirmField)
        field.clear()
        self._say("")
        self.screen.set_focus(field)

    def show(self, plan: Plan, view: RunView) -> None:
        """Show this plan."""
        self._plan, self._view = plan, view
        self._draw()

    def follow(self, view: RunView) -> None:
        """The run went on while the plan is read."""
        self._view = view
        self._draw()

    def forget(self) -> bool:
        """Take back what was typed; False where nothing is."""
        field = self.query_one(ConfirmField)
        is_typed = bool(field.value)
        field.clear()
        return is_typed

    def refuse(self, problem: str) -> None:
        """It could not be begun."""
        self._say(problem)

    def on_resize(self) -> None:
        self._draw()

    def action_scroll(self, by: int) -> None:
        """Move through the text; the field keeps the focus."""
        self.query_one(LineView).scroll_relative(y=by, animate=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._guard.close()
        if event.value:
            self._say("")

    def on_confirm_field_paste_refused(self, event: ConfirmField.PasteRefused) -> None:
        event.stop()
        self._guard.close()
        self._say(_PASTED)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._guard.lets_through():
            self._say(_TOO_QUICK)
        elif event.value != self._run_name:
            self._say(f"that is not the run's name: nothing is done without {self._run_name}")
        elif not is_seen(self.query_one("#pivot-confirm-label"), [self._label()], 0):
            self.notify(TOO_SMALL, severity="warning", markup=False)
        elif self._plan is not None:
            self._guard.close()
            self.post_message(self.Confirmed(self._plan))

    def _label(self) -> Content:
        name = foreign(self._run_name)
        return Content.assemble("To do it, type the run's name, ", (name, "bold"))

    def _say(self, problem: str) -> None:
        content = Content.styled(f" {foreign(problem)} ", AMBER) if problem else Content()
        put(self.query_one("#pivot-confirm-problem", Static), content)

    def _draw(self) -> None:
        if self._plan is not None and self._view is not None:
            view = self.query_one(LineView)
            lines = plan_lines(self._plan, self._view, view.line_width)
            view.show_lines(len(lines), lines.__getitem__)


def plan_lines(plan: Plan, view: RunView, width: int) -> list[Content]:
    """What happens in order, what stays, and the diff of `run.toml`."""
    lines = [Content.styled("What happens", "bold")]
    for number, words in enumerate(_happens(plan, view), start=1):
        lines += wrapped(Content(foreign(words)), width, first=f" {number} ", rest="   ")
    lines += [Content(), Content.styled("What stays", "bold")]
    for words in _stays(plan, view):
        lines += wrapped(Content(foreign(words)), width, first=" ✓ ", rest="   ", style=GOOD)
    lines += [Content(), Content.styled("What changes in run.toml", "bold")]
    return lines + [_diff_line(text, width) for text in plan.diff]


def _happens(plan: Plan, view: RunView) -> tuple[str, ...]:
    archive = plan.archive_folder
    files = ", ".join(f"{path.name} (now {formatting.size(n)})" for path, n in plan.archives)
    note = f" Why: {plan.change.note}" if plan.change.note else " No reason is noted."
    folder = f"{archive.parent.name}/{archive.name}/"
    return (
        f"The request is written to pivot.json.{note}",
        f"{_held_at(plan, view)} Then the trainer ends.",
        f"Moved to {folder}: {files or 'nothing'}; and a copy of run.toml.",
        "run.toml gets the new policy, as below.",
        f"The trainer resumes from that checkpoint: phase {view.phase + 1}, all arms at 0 pulls.",
    )


def _held_at(plan: Plan, view: RunView) -> str:
    newest, is_now = view.newest, plan.mode is HoldMode.NOW
    if newest is not None and (ends_at_checkpoint(view) or (is_now and not view.is_running)):
        return f"The checkpoint of step {formatting.steps(newest.step)} is taken as it is."
    if is_now:
        return "The step under way is finished, its checkpoint written and audited."
    boundary = formatting.steps(next_boundary(view.step, plan.settings.checkpoint.every))
    return f"Training goes on to step {boundary}, where the checkpoint is written and audited."


def _stays(plan: Plan, view: RunView) -> tuple[str, ...]:
    n_params = plan.settings.model.n_params
    return (
        f".loss.json where it is: {view.n_records:,} records, and those to come behind them",
        f"weights, m and v, {n_params:,} numbers each: bit for bit those of the checkpoint",
        "all checkpoints, and the audits of every phase in the checkpoints pane",
    )


def _diff_line(text: str, width: int) -> Content:
    style = {"+": GOOD, "-": RED}.get(text[:1], DIM)
    escaped = escape_control(text, keep_newlines=False)
    return Content.styled(f" {escaped}", style).truncate(width, ellipsis=True)
