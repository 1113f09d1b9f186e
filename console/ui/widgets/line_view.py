"""Lines of text of which only those in sight are made, and only those that differ are drawn."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from console.operations.actions import Place
from console.ui.keys import bindings_at

LineMaker = Callable[[int], Content]


class LineView(ScrollView, can_focus=True):
    """Shows any number of lines; the work is that of the lines in sight."""

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.LINES)

    HEADINGS: ClassVar[int] = 0
    """So many of the first lines stay where they are while the others scroll away under them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._count = 0
        self._line: LineMaker = lambda index: Content()
        self._drawn: dict[int, Content] = {}
        self._titles = ("", "")

    @property
    def line_count(self) -> int:
        return self._count

    @property
    def line_width(self) -> int:
        """Cells of a line: a column is kept for the scroll bar, so that lines never wrap anew."""
        return max(self.outer_size.width - self.styles.gutter.width - 1, 0)

    @property
    def rows_in_sight(self) -> int:
        return self.scrollable_content_region.height

    def show_lines(self, count: int, line: LineMaker) -> None:
        """Show `count` lines made by `line(index)` on demand; what looks the same stays."""
        self._count, self._line = count, line
        self._fit()
        self._refresh_changed()

    def show_titles(self, title: str, subtitle: str = "") -> None:
        """What the border says; the same again draws nothing."""
        titles = (title, subtitle)
        if titles != self._titles:
            self._titles = titles
            self.border_title, self.border_subtitle = Content(title), Content(subtitle)

    def on_resize(self) -> None:
        self._fit()

    def line_at(self, row: int) -> int:
        """The index of the line that the scroll offset puts in a row of the content."""
        return row if row < self.HEADINGS else self.scroll_offset.y + row

    def render_line(self, y: int) -> Strip:
        """One row of the content."""
        index = self.line_at(y)
        style, width = self.visual_style, self.line_width
        if index >= self._count or not width:
            return Strip.blank(self.size.width, style.rich_style)
        content = self._line(index)
        self._drawn[index] = content
        strip = Visual.to_strips(self, content, width, 1, style, pad=True)[0]
        strip = strip.extend_cell_length(self.size.width, style.rich_style)
        return self.decorate_line(index, strip)

    def decorate_line(self, index: int, strip: Strip) -> Strip:
        """Change how a whole line looks, such as the one under a cursor."""
        return strip

    def _fit(self) -> None:
        size = Size(self.line_width, self._count)
        if size != self.virtual_size:
            self.virtual_size = size

    def _refresh_changed(self) -> None:
        drawn, self._drawn = self._drawn, {}
        for row in range(self.rows_in_sight):
            index = self.line_at(row)
            old = drawn.get(index)
            new = self._line(index) if index < self._count else None
            if old is not None and new is not None and old.is_same(new):
                self._drawn[index] = old
            elif old is not new:
                self.refresh(Region(0, row, self.size.width, 1))
