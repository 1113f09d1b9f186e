"""One prompt at the bottom, to go anywhere in the run."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.theme import ACCENT, AMBER, DIM
from console.ui.widgets.fields import TextField
from console.ui.widgets.text import foreign
from console.view.glance import Glance
from console.view.goto import TAKES, GoToError, step_meant


class PromptScreen(ModalScreen[int | None]):
    """Ends with the step that was meant, or none."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.PROMPT)

    def __init__(self, glance: Glance, *, clock: Callable[[], float] = time.time) -> None:
        """`glance`: the run as it is while this is open."""
        super().__init__()
        self._glance = glance
        self._clock = clock

    def compose(self) -> ComposeResult:
        with Container(id="prompt"):
            with Horizontal(id="prompt-line"):
                yield Static(Content.styled(":", f"bold {ACCENT}"), markup=False)
                yield TextField(id="prompt-field")
            yield Static(Content.styled(TAKES, DIM), id="prompt-words", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End with the step, or say why there is none."""
        event.stop()
        if not event.value.strip():
            self.dismiss(None)
            return
        view = self._glance.view
        try:
            step = step_meant(event.value, self._glance.series, view.audits, now=self._clock())
        except GoToError as error:
            self.query_one("#prompt-words", Static).update(
                Content.styled(f" {foreign(str(error))} ", AMBER)
            )
        else:
            self.dismiss(step)
