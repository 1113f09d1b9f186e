"""The log pane: the last lines of what the trainer printed."""

from textual.content import Content

from console.ui.theme import DIM
from console.ui.widgets.line_view import LineView
from console.view.run_view import RunView
from trainer.rundir.names import escape_control


class LogPane(LineView):
    """Follows the end unless the operator scrolled up."""

    def show(self, view: RunView) -> None:
        """Show this view's last lines."""
        is_following = self.scroll_offset.y >= self.max_scroll_y
        tail = view.log_tail
        self.show_titles("5 log")
        if not tail:
            self.show_lines(1, lambda _: Content.styled("nothing in trainer.log yet", DIM))
            return
        self.show_lines(len(tail), lambda index: Content(escape_control(tail[index])))
        if is_following:
            self.scroll_end(animate=False)

    def on_resize(self) -> None:
        self.scroll_end(animate=False)
