"""The lines at the top that say how the run is."""

import time
from collections.abc import Callable

from textual.content import Content

from console.ui.theme import DIM
from console.ui.widgets.header_lines import Room, Times, header_lines
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

    def show(
        self,
        view: RunView,
        *,
        hint: str = "",
        is_dated: bool = False,
        n_alarms: int = 0,
        away: str = "",
    ) -> None:
        """Show this view as of now, in the terminal's present size.

        `n_alarms`: how many nobody has acknowledged; `away`: what happened meanwhile.
        """
        room = Room(width=self.line_cells, height=self.app.size.height)
        times = Times(now=self._clock(), is_dated=is_dated)
        self.show_lines(header_lines(view, room, times, hint=hint, n_alarms=n_alarms, away=away))
