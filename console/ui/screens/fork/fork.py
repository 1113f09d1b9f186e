"""The fork screen: two branches from a checkpoint, asked for, and asked once more."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from console import formatting
from console.fork.branches import Asked, Order
from console.fork.memory_need import MemoryNeed
from console.operations.actions import Place
from console.pivot.plan import Check
from console.ui.keys import bindings_at
from console.ui.screens.fork.branch_fields import BranchFields
from console.ui.screens.framed import FramedScreen
from console.ui.screens.pivot.preconditions import check_lines
from console.ui.widgets.choices import Choice, Choices
from console.ui.widgets.line_view import LineView

BRANCHES, BACK, START = "branches", "back", "start"

_ORDERS = (
    Choice(
        key=Order.IN_TURN,
        text="Make both and train them one after the other",
        explained="the second starts when the first is done, if this console is still open",
    ),
    Choice(
        key=Order.AT_ONCE,
        text="Make both and train them at once",
        explained="they share the card with each other, and with this run",
    ),
    Choice(key=Order.NOT, text="Only make them"),
)
_LISTED = "compare, stop and open them"
_BACK = Choice(key=BACK, text="Back", explained="nothing is made")


class OrderChoices(Choices):
    """The arrows lead on to the fields above."""

    def action_move(self, by: int) -> None:
        """Mark the next choice; above the first are the fields."""
        if by < 0 and self.cursor == 0:
            self.screen.focus_previous()
        elif self.cursor + by < self.n_offered:
            super().action_move(by)


class ForkScreen(FramedScreen):
    """Trainers are started only by a second answer, to what they need of the memory."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.FORK)

    class MemoryWanted(Message):
        """What trainers need of the memory is to be found out, and shown by `ask`."""

        def __init__(self, screen: "ForkScreen") -> None:
            super().__init__()
            self.screen = screen

    class ForkWanted(Message):
        """The branches are to be made."""

        def __init__(self, asked: Asked) -> None:
            super().__init__()
            self.asked = asked

    class BranchesWanted(Message):
        """The branches that there are are to be listed."""

    def __init__(
        self,
        run_name: str,
        step: int,
        every: int,
        *,
        n_branches: int = 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`n_branches`: how many the run has already."""
        super().__init__(f"Audit fork of {run_name}", monotonic=monotonic)
        self._run_name = run_name
        self._step = step
        self._every = every
        self._n_branches = n_branches
        self._asked: Asked | None = None
        """What was asked for, while it is asked whether trainers shall start."""
        self._checks: tuple[Check, ...] = ()

    def compose_body(self) -> ComposeResult:
        yield BranchFields(self._run_name, self._step, 2 * self._every)
        yield LineView(id="fork-memory")
        yield OrderChoices(id="fork-choices")

    def on_mount(self) -> None:
        self.query_one(LineView).can_focus = False
        self._offer()
        self.begin_quiet()

    def head(self) -> Content:
        return Content.styled(f"from the checkpoint of step {formatting.steps(self._step)}", "bold")

    def words(self) -> str:
        if self._asked is not None:
            return (
                f"{self._n_trainers} of the branches' trainers would run at a time, beside what"
                " runs already."
            )
        return (
            "Two runs that start from the same weights, each with what you change of it, to see"
            " which does better. This run is not touched and may go on."
        )

    def keys(self) -> str:
        if self._asked is not None:
            return "↑ ↓ move   Enter choose   Esc back"
        return "↑ ↓ Tab field   Enter next, choose   Esc close"

    def enter(self) -> None:
        """Take the focus."""
        if self._asked is not None:
            self.query_one(Choices).focus()
        else:
            self.query_one(BranchFields).enter()

    def ask(self, needs: Sequence[MemoryNeed]) -> None:
        """Ask whether the trainers shall start, with what they need of the memory."""
        if self._asked is None:
            return
        n = self._n_trainers
        checks = (Check(ok=need.is_enough(n), what=need.words(n)) for need in needs)
        self._checks = tuple(checks) or (Check(ok=None, what="what is free can't be told"),)
        self.say("")
        self._offer()
        self.begin_quiet()

    def action_close(self) -> None:
        """Close, or go back from the question; nothing is made."""
        if self._asked is not None:
            self._back()
        else:
            self.dismiss()

    def action_up(self) -> None:
        """The field above; there is nothing above the first."""
        if self.focused is not self.query(Input).first():
            self.focus_previous()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        if not self.guard.lets_through():
            return
        if event.key == BRANCHES:
            self.post_message(self.BranchesWanted())
        elif event.key == BACK:
            self._back()
        elif event.key == START and self._asked is not None:
            self.post_message(self.ForkWanted(self._asked))
        elif self._asked is None:
            self._take(Order(event.key))

    @property
    def _n_trainers(self) -> int:
        """How many run at a time."""
        is_at_once = self._asked is not None and self._asked.order is Order.AT_ONCE
        return 2 if is_at_once else 1

    def _take(self, order: Order) -> None:
        asked = self.query_one(BranchFields).asked(order)
        if asked is None:
            self.say("mend what is marked above")
            return
        self.say("")
        if order is Order.NOT:
            self.post_message(self.ForkWanted(asked))
        else:
            self._asked = asked
            self.say("looking at the memory …")
            self.post_message(self.MemoryWanted(self))

    def _back(self) -> None:
        self._asked, self._checks = None, ()
        self.say("")
        self._offer()
        self.begin_quiet()

    def _offer(self) -> None:
        is_asking = self._asked is not None
        self.query_one(BranchFields).display = not is_asking
        self.query_one("#fork-memory").display = is_asking
        choices = self.query_one(Choices)
        if self._asked is not None:
            start = Choice(key=START, text=f"Make both and train them {self._asked.order}")
            choices.offer((_BACK, start))
        else:
            text = f"Branches of this run: {self._n_branches}"
            listed = Choice(key=BRANCHES, text=text, explained=_LISTED)
            choices.offer((*_ORDERS, *[listed] * bool(self._n_branches)))
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        super().on_resize()
        self._draw()

    def _draw(self) -> None:
        view = self.query_one("#fork-memory", LineView)
        lines = check_lines(self._checks, view.line_width) if self._checks else []
        view.show_lines(len(lines), lines.__getitem__)
