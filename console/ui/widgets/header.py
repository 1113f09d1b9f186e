"""The lines at the top that say how the run is."""

import time
from collections.abc import Callable

from textual.content import Content

from console.ui.theme import DIM
from console.ui.widgets.header_lines import Room, header_lines
from console.ui.widgets.rows import Rows
from console.view.run_view import RunView


class Header(Rows):
    """Draws `header_lines`."""

    DEFAULT_CSS = """
    Header {
        min-height: 3;
    }
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(Content.styled("reading the run …", DIM))
        self._clock = clock

    def show(self, view: RunView, *, hint: str = "") -> None:
        """Show this view as of now, in the terminal's present size."""
        room = Room(width=self.line_cells, height=self.app.size.height)
        self.show_lines(header_lines(view, room, self._clock(), hint=hint))
