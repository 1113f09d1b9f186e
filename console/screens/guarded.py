"""A screen over the dashboard on which keys count only after a moment of quiet."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from console.input_guard import InputGuard
from console.theme import AMBER, DIM
from console.widgets.text import foreign


class GuardedScreen(ModalScreen[None]):
    """A box with a head, words, a body, a line for problems and one for keys.

    Until the quiet has passed nothing has the focus, so that keys reach the guard and no widget.
    """

    AUTO_FOCUS = ""
    GUARDED_ACTIONS: ClassVar[frozenset[str]]
    """Actions that count as keys do."""

    def __init__(self, title: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._box_title = title
        self.guard = InputGuard(monotonic)

    def compose(self) -> ComposeResult:
        with Container(id="guarded") as box:
            box.border_title = Content(foreign(self._box_title))
            yield Static(id="guarded-head", markup=False)
            yield Static(id="guarded-words", markup=False)
            yield from self.compose_body()
            yield Static(id="guarded-problem", markup=False)
            yield Static(id="guarded-keys", markup=False)

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

    def enter(self) -> None:
        """The quiet has passed: take the focus."""

    def on_resize(self) -> None:
        self.draw_frame()

    def on_key(self, event: events.Key) -> None:
        if not self.guard.lets_through():
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self.guard.close()
        event.stop()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Guard the actions too: keys that were on their way to a widget below the screen when
        it opened run its bindings without passing `on_key`. Textual also asks without any key.
        """
        return action not in self.GUARDED_ACTIONS or self.guard.is_open

    def begin_quiet(self) -> None:
        """Take the focus away until no key came for a moment."""
        self.guard.close()
        self.set_focus(None)
        self.draw_frame()
        self._await_quiet()

    def say(self, problem: str) -> None:
        """Tell what is in the way; an empty text takes it back."""
        content = Content.styled(f" {foreign(problem)} ", AMBER) if problem else Content()
        put(self.query_one("#guarded-problem", Static), content)

    def draw_frame(self) -> None:
        """Draw what stands around the body."""
        keys = self.keys() if self.guard.is_open else "keys count in a moment"
        put(self.query_one("#guarded-head", Static), self.head())
        put(self.query_one("#guarded-words", Static), Content.styled(self.words(), DIM))
        put(self.query_one("#guarded-keys", Static), Content.styled(keys, DIM))

    def _await_quiet(self) -> None:
        """Enter when the guard opens; a key meanwhile only puts that off."""
        if self.guard.is_open:
            self.enter()
            self.draw_frame()
        else:
            self.set_timer(self.guard.remaining_seconds, self._await_quiet)


def put(static: Static, content: Content) -> None:
    """Show this; the same again draws nothing."""
    if not (isinstance(static.content, Content) and static.content.is_same(content)):
        static.update(content)
