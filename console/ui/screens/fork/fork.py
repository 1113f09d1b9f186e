"""The fork screen: two branches from a checkpoint, how they come along, and their comparison."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.fork.branches import Asked, Grown, Order
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.fork.branch_fields import BranchFields
from console.ui.screens.framed import FramedScreen
from console.ui.screens.pivot.step import wrapped
from console.ui.theme import DIM, GOOD, RED
from console.ui.widgets.choices import Choice, Choices
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign
from trainer.rundir.names import quoted

COMPARE, CLOSE = "compare", "close"

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
_COMPARE = Choice(
    key=COMPARE,
    text="Compare them",
    explained="curves, held-out loss and samples side by side",
)
_CLOSE = Choice(key=CLOSE, text="Back to the dashboard", explained="branches under way go on")


class ForkScreen(FramedScreen):
    """Asks first; then draws what the app tells of the branches."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.FORK)

    class ForkWanted(Message):
        """The branches are to be made."""

        def __init__(self, asked: Asked) -> None:
            super().__init__()
            self.asked = asked

    class CompareWanted(Message):
        """Two runs beside this one are to be compared, by name."""

        def __init__(self, names: Sequence[str]) -> None:
            super().__init__()
            self.names = tuple(names)

    def __init__(
        self,
        run_name: str,
        step: int,
        every: int,
        *,
        is_growing: bool,
        made_before: Sequence[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_growing`: branches are under way; `made_before`: forks that could be compared."""
        super().__init__(f"Audit fork of {run_name}", monotonic=monotonic)
        self._run_name = run_name
        self._step = step
        self._every = every
        self._is_growing = is_growing
        self._made_before = tuple(made_before)[-2:]
        self._grown: tuple[Grown, ...] = ()

    def compose_body(self) -> ComposeResult:
        yield BranchFields(self._run_name, self._step, 2 * self._every)
        yield LineView(id="branches")
        yield Choices(id="fork-choices")

    def on_mount(self) -> None:
        self.watch(self.app, "branches", self._on_branches, init=self._is_growing)
        if not self._is_growing:
            can_compare = len(self._made_before) == 2
            text = f"Compare {' with '.join(self._made_before)}"
            before = (Choice(key=COMPARE, text=text, explained="made before"),) * can_compare
            self.query_one(Choices).offer((*_ORDERS, *before))
        self.query_one(BranchFields).display = not self._is_growing
        self.query_one("#branches").display = self._is_growing
        self.begin_quiet()

    def head(self) -> Content:
        return Content.styled(f"from the checkpoint of step {formatting.steps(self._step)}", "bold")

    def words(self) -> str:
        if self._is_growing:
            return "Each branch is a run of its own beside this one, with its own trainer."
        return (
            "Two runs that start from the same weights, each with what you change of it, to see"
            " which does better. This run is not touched and may go on."
        )

    def keys(self) -> str:
        return "↑ ↓ Tab field   Enter next, choose   Esc close"

    def enter(self) -> None:
        """Take the focus."""
        if self._is_growing:
            self.query_one(Choices).focus()
        else:
            self.query_one(BranchFields).enter()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        if not self.guard.lets_through():
            return
        if event.key == CLOSE:
            self.dismiss()
        elif event.key == COMPARE:
            self.post_message(self.CompareWanted(self._names()))
        else:
            asked = self.query_one(BranchFields).asked(Order(event.key))
            if asked is None:
                self.say("mend what is marked above")
            else:
                self.post_message(self.ForkWanted(asked))

    def _names(self) -> Sequence[str]:
        if self._is_growing:
            return [branch.name for branch in self._grown]
        return self._made_before

    def _on_branches(self, grown: tuple[Grown, ...]) -> None:
        if not grown:
            return
        self._grown = grown
        if not self._is_growing:
            self._is_growing = True
            self.query_one(BranchFields).display = False
            self.query_one("#branches").display = True
            self.say("")
            self.begin_quiet()
        # Only once it is shown the lines know their width.
        self.call_after_refresh(self._draw)
        are_made = all(branch.path is not None for branch in grown)
        self.query_one(Choices).offer((_COMPARE, _CLOSE) if are_made else (_CLOSE,))

    def on_resize(self) -> None:
        super().on_resize()
        self._draw()

    def _draw(self) -> None:
        view = self.query_one("#branches", LineView)
        lines = branch_lines(self._grown, view.line_width)
        view.show_lines(len(lines), lines.__getitem__)


def branch_lines(grown: Sequence[Grown], width: int) -> list[Content]:
    """Each branch with where it is and how it comes along."""
    lines: list[Content] = []
    for branch in grown:
        mark, style = ("✓", GOOD) if branch.is_done else ("◆", "bold")
        if branch.problem:
            mark, style = "✖", RED
        name = Content.assemble((f" {mark} ", style), (foreign(branch.name), "bold"))
        lines.append(Content.assemble(name, f"   {foreign(branch.words)}"))
        if branch.problem:
            words = Content.styled(foreign(branch.problem), RED)
            lines += wrapped(words, width, first="     ", rest="     ")
        if branch.path is not None:
            command = f"andrea-console {quoted(branch.path)} watches it; r trains it on"
            lines += wrapped(
                Content.styled(foreign(command), DIM), width, first="     ", rest="     "
            )
        lines.append(Content())
    return lines
