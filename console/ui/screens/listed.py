"""The frame of the screens that list something of the run; they end with where to go to."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console import formatting
from console.ui.screens.framed import put, show_title
from console.ui.theme import DIM
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign, right
from console.view.glance import Glance

TIME_CELLS, STEP_CELLS = 15, 10
Chosen = TypeVar("Chosen")


class ListedScreen(ModalScreen[Chosen]):
    """A list with a cursor, all of the line under it below, and the keys."""

    HEAD = ""
    """Titles of the columns."""
    HINT = ""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.clock = clock
        self.is_dated = False
        self.glance: Glance | None = None

    def compose(self) -> ComposeResult:
        with Container(id="listed"):
            if self.HEAD:
                yield Static(Content.styled(self.HEAD, DIM), id="listed-head", markup=False)
            yield CursorList()
            yield Static(id="listed-detail", markup=False)
            yield Static(Content.styled(self.HINT, DIM), id="listed-hint", markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "glance", self._show_glance)
        self.watch(self.app, "minute", lambda _: self.draw(), init=False)
        self.watch(self.app, "is_dated", self._show_dated)
        self.watch(self.query_one(CursorList), "cursor", lambda _: self.draw_detail(), init=False)

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Draw title, list and detail as of now."""

    def draw_detail(self) -> None:
        """Draw what is told of the line under the cursor."""

    def show_title(self, title: str) -> None:
        """In the border; the same again draws nothing."""
        show_title(self.query_one("#listed"), title)

    def show_detail(self, t: float | None, step: int | None, text: str, what: str = "") -> None:
        """Both the date and the age, of what, and the text whole."""
        now = self.clock()
        age = f"{formatting.moment(t)} ({formatting.age(None if t is None else now - t)} ago)"
        head = f"{what}{age}, step {formatting.steps(step)}\n"
        put(self.query_one("#listed-detail", Static), Content.assemble((head, DIM), foreign(text)))

    def show_words(self, text: str) -> None:
        """Of the line under the cursor, whole."""
        put(self.query_one("#listed-detail", Static), Content(foreign(text)))

    def show_nothing(self, words: str) -> None:
        """A list without a line."""
        self.query_one(CursorList).show_rows(1, lambda _: Content.styled(words, DIM), 0)
        put(self.query_one("#listed-detail", Static), Content())

    def place(self, t: float | None, step: int | None) -> str:
        """The columns of time and step."""
        told = formatting.when(t, self.clock(), is_dated=self.is_dated)
        return right(told, TIME_CELLS) + right(formatting.steps(step), STEP_CELLS) + "  "

    def _show_glance(self, glance: Glance | None) -> None:
        self.glance = glance
        self.draw()

    def _show_dated(self, is_dated: bool) -> None:
        self.is_dated = is_dated
        self.draw()


def place_of(thing: object, things: Sequence[object], before: int) -> int:
    """Where a thing is now; where it was, if it is gone."""
    return things.index(thing) if thing in things else before
