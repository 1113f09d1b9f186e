"""The line of keys at the bottom: what works everywhere first, then what the focus adds.

Where there is no room for all, the last are left out, and `…` says so: help, which is never,
tells them.
"""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from console.ui.theme import ACCENT, DIM
from console.ui.widgets.text import Piece, line, line_width


class KeyLine(Static):
    """The bindings that are on show, drawn again when another set of them is active."""

    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        padding: 0 1;
        text-wrap: nowrap;
    }
    """

    def __init__(self, *, offers: Callable[[str], bool]) -> None:
        """`offers`: whether an action, by its id, can be done now."""
        super().__init__(markup=False)
        self._offers = offers

    def compose(self) -> ComposeResult:
        self.screen.bindings_updated_signal.subscribe(self, self._draw)
        return []

    def on_resize(self) -> None:
        self._draw(self.screen)

    def _draw(self, screen: Screen[object]) -> None:
        active = [
            each for each in screen.active_bindings.values() if self._is_offered(each.binding)
        ]
        # The app's own come last in Textual's order and matter most, then the screen's.
        order = [self.app, screen]
        active.sort(key=lambda each: order.index(each.node) if each.node in order else len(order))
        # Several keys of one action are shown by the first.
        keys = {each.binding.action: each.binding for each in reversed(active) if each.enabled}
        pieces = [self._key(binding, rank) for rank, binding in enumerate(reversed(keys.values()))]
        width = self.content_size.width
        fitting = line(pieces, width, gap=2)
        if fitting.cell_length < line_width(pieces, gap=2):
            fitting = Content.assemble(line(pieces, width - 2, gap=2), (" …", DIM))
        if not (isinstance(self.content, Content) and self.content.is_same(fitting)):
            self.update(fitting)

    def _is_offered(self, binding: Binding) -> bool:
        return binding.show and (binding.id is None or self._offers(binding.id))

    def _key(self, binding: Binding, rank: int) -> Piece:
        key = self.app.get_key_display(binding)
        text = Content.assemble((key, f"bold {ACCENT}"), f" {binding.description.lower()}")
        return Piece(content=text, rank=-1 if binding.id == "app.help" else rank)
