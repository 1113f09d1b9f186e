"""Lines with a cursor on one of them."""

from rich.style import Style
from textual.reactive import var
from textual.strip import Strip

from console.ui.widgets.line_view import LineMaker, LineView

_CURSOR = Style(reverse=True, dim=False)


class CursorList(LineView):
    """The keys that scroll lines move the cursor here."""

    cursor: var[int] = var(0)

    def show_rows(self, count: int, line: LineMaker, cursor: int) -> None:
        """Show `count` lines with the cursor on one of them."""
        self.show_lines(count, line)
        self.cursor = min(max(cursor, 0), max(count - 1, 0))

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_line(old)
        self.refresh_line(new)
        self._keep_in_sight()

    def on_resize(self) -> None:
        self._keep_in_sight()

    def decorate_line(self, index: int, strip: Strip) -> Strip:
        """The cursor's line stands out."""
        is_here = index == self.cursor and bool(self.line_count)
        return strip.apply_style(_CURSOR) if is_here else strip

    def action_scroll_up(self) -> None:
        """One line up."""
        self._move(-1)

    def action_scroll_down(self) -> None:
        """One line down."""
        self._move(1)

    def action_page_up(self) -> None:
        """A screenful up."""
        self._move(-max(self.rows_in_sight - 1, 1))

    def action_page_down(self) -> None:
        """A screenful down."""
        self._move(max(self.rows_in_sight - 1, 1))

    def action_scroll_home(self) -> None:
        """To the first."""
        self.cursor = 0

    def action_scroll_end(self) -> None:
        """To the last."""
        self._move(self.line_count)

    def _move(self, by: int) -> None:
        self.cursor = min(max(self.cursor + by, 0), max(self.line_count - 1, 0))

    def _keep_in_sight(self) -> None:
        top, height = self.scroll_offset.y, self.rows_in_sight
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
