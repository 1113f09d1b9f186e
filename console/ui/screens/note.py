"""One line at the bottom: a note on checkpoints."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.fields import TextField


class NoteScreen(ModalScreen[str | None]):
    """Ends with the line that was typed, or none."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.NOTE)

    def __init__(self, steps: Sequence[int], note: str) -> None:
        """`note`: what there is of one."""
        super().__init__()
        self._steps = steps
        self._note = note

    def compose(self) -> ComposeResult:
        first = f"step {formatting.steps(self._steps[0])}"
        of_what = first if len(self._steps) == 1 else f"{len(self._steps)} checkpoints"
        with Container(id="prompt"):
            with Horizontal(id="prompt-line"):
                yield Static(Content.styled("✎", f"bold {ACCENT}"), markup=False)
                yield TextField(id="note-field")
            words = f"a note on {of_what}; Enter pins it with this, Esc leaves it as it is"
            yield Static(Content.styled(words, DIM), id="prompt-words", markup=False)

    def on_mount(self) -> None:
        field = self.query_one(TextField)
        field.value = self._note
        field.action_end()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End with what stands in the field."""
        event.stop()
        self.dismiss(event.value)
