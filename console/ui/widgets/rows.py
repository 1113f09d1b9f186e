"""A few lines that are always in sight."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

_PADDING_CELLS = 2


class Rows(Widget):
    """As high as it has lines; rows that stay the same are not drawn again."""

    ALLOW_SELECT: ClassVar[bool] = True

    DEFAULT_CSS = """
    Rows {
        height: auto;
        padding: 0 1;
        text-wrap: nowrap;
    }
    """

    def __init__(self, first: Content) -> None:
        """`first`: what is shown until there are lines."""
        super().__init__()
        self._lines: Sequence[Content] = [first]

    @property
    def line_cells(self) -> int:
        """What a line may take, in the terminal's present size."""
        return max(self.app.size.width - _PADDING_CELLS, 1)

    def show_lines(self, lines: Sequence[Content]) -> None:
        """Show these from now on."""
        old, self._lines = self._lines, lines
        if len(old) != len(lines):
            self.refresh(layout=True)
            return
        for row, line in enumerate(lines):
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
