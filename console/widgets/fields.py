"""Fields for a line of text: one that takes pastes made harmless, one that takes none."""

from textual import events
from textual.message import Message
from textual.widgets import Input

from console.widgets.text import foreign


class TextField(Input):
    """One line; what is pasted can't steer the terminal."""

    def __init__(self, *, id: str, placeholder: str = "") -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, placeholder=placeholder, compact=True, select_on_focus=False)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if event.text:
            self.insert_text_at_cursor(foreign(event.text.splitlines()[0]))


class ConfirmField(TextField):
    """For words that have to be typed by hand."""

    class PasteRefused(Message):
        """A paste came and was thrown away."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.PasteRefused())

    def action_paste(self) -> None:
        """Take nothing from the clipboard either."""
        self.post_message(self.PasteRefused())
