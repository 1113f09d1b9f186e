"""The frame of the larger guarded screens: a head, words, a body, a line for problems and keys."""

import time
from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from console.ui.screens.guarded import GuardedScreen
from console.ui.theme import AMBER, DIM
from console.ui.widgets.text import foreign


class FramedScreen(GuardedScreen):
    """Until the quiet has passed nothing has the focus: keys reach the guard and no widget."""

    AUTO_FOCUS = ""

    def __init__(self, title: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(monotonic=monotonic)
        self._box_title = title

    def compose(self) -> ComposeResult:
        with Container(id="framed") as box:
            box.border_title = Content(foreign(self._box_title))
            yield Static(id="framed-head", markup=False)
            yield Static(id="framed-words", markup=False)
            yield from self.compose_body()
            yield Static(id="framed-problem", markup=False)
            yield Static(id="framed-keys", markup=False)

    def compose_body(self) -> ComposeResult:
        """What stands between the words and the lines at the bottom."""
        yield Widget()

    def head(self) -> Content:
        """The first line."""
        return Content()

    def words(self) -> str:
        """What this is about, in a sentence or two."""
        return ""

    def keys(self) -> str:
        """The keys that count now."""
        return "Esc close"

    def on_resize(self) -> None:
        self.draw_guarded()

    def on_descendant_focus(self) -> None:
        """The line of keys tells what works where the focus is."""
        self.draw_guarded()

    def begin_quiet(self) -> None:
        """Take the focus away until no key came for a moment."""
        self.set_focus(None)
        super().begin_quiet()

    def say(self, problem: str) -> None:
        """Tell what is in the way; an empty text takes it back."""
        content = Content.styled(f" {foreign(problem)} ", AMBER) if problem else Content()
        put(self.query_one("#framed-problem", Static), content)

    def draw_guarded(self) -> None:
        """Draw what stands around the body."""
        keys = self.keys() if self.guard.is_open else "keys count in a moment"
        put(self.query_one("#framed-head", Static), self.head())
        put(self.query_one("#framed-words", Static), Content.styled(self.words(), DIM))
        put(self.query_one("#framed-keys", Static), Content.styled(keys, DIM))


def put(static: Static, content: Content) -> None:
    """Show this; the same again draws nothing."""
    if not (isinstance(static.content, Content) and static.content.is_same(content)):
        static.update(content)


def show_title(box: Widget, title: str) -> None:
    """Foreign text in a border; the same again draws nothing."""
    content = Content(title)
    if box.border_title != content.markup:
        box.border_title = content
