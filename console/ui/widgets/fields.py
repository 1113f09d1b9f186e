"""Fields for a line of text: pastes into them are made harmless, or refused."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from console.ui.widgets.text import foreign


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


class LabelledField(Horizontal):
    """A text field behind its name; an arrow shows where the focus is, without any colour."""

    def __init__(self, label: str, *, id: str, placeholder: str = "") -> None:  # noqa: A002
        """`id` is the field's."""
        super().__init__()
        self._label = label
        self._field = TextField(id=id, placeholder=placeholder)

    def compose(self) -> ComposeResult:
        yield Static(f"  {self._label}", markup=False)
        yield self._field

    def on_descendant_focus(self) -> None:
        self.query_one(Static).update(f"▸ {self._label}")

    def on_descendant_blur(self) -> None:
        self.query_one(Static).update(f"  {self._label}")


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
