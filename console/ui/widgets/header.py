"""The lines at the top that are always in sight."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from console.ui.theme import DIM
from console.ui.widgets.header_lines import Room, Times, header_lines
from console.view.run_view import RunView

_PADDING_CELLS = 2


class Header(Widget):
    """Draws `header_lines`; rows that stay the same are not drawn again."""

    ALLOW_SELECT: ClassVar[bool] = True

    DEFAULT_CSS = """
    Header {
        height: auto;
        min-height: 3;
        padding: 0 1;
        text-wrap: nowrap;
    }
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock
        self._lines: list[Content] = [Content.styled("reading the run …", DIM)]

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
        width, height = self.app.size
        room = Room(width=max(width - _PADDING_CELLS, 1), height=height)
        times = Times(now=self._clock(), is_dated=is_dated)
        old = self._lines
        self._lines = header_lines(view, room, times, hint=hint, n_alarms=n_alarms, away=away)
        if len(old) != len(self._lines):
            self.refresh(layout=True)
            return
        for row, line in enumerate(self._lines):
            if not line.is_same(old[row]):
                self.refresh(Region(0, row, self.size.width, 1))

    def get_content_height(self, *_: object) -> int:
        """As many rows as there are lines."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One row: inside the padding, one line."""
        width = self.content_size.width
        if y >= len(self._lines) or not width:
            return Strip.blank(width, self.visual_style.rich_style)
        return Visual.to_strips(self, self._lines[y], width, 1, self.visual_style, pad=True)[0]
