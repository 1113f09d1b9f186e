"""A screen over the dashboard on which keys count only after a moment of quiet."""

import time
from collections.abc import Callable

from textual import events
from textual.screen import ModalScreen

from console.ui.input_guard import InputGuard


class GuardedScreen(ModalScreen[None]):
    """Takes no key until none came for a moment; a paste begins that moment anew."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.guard = InputGuard(monotonic)

    def on_key(self, event: events.Key) -> None:
        """Drop a key that came too soon, and begin the quiet anew.

        The app hands over those, too, that were on their way to a widget below when the screen
        opened: they would run its bindings without having passed here.
        """
        if not self.guard.lets_through():
            event.stop()
            event.prevent_default()

    def _forward_event(self, event: events.Event) -> None:
        """Drop what the mouse does before the quiet has passed; a press begins it anew. Textual
        gives the focus to what is clicked, and a key then passes by this screen. What was drawn
        with the button down below may still end.
        """
        is_mouse = isinstance(event, events.MouseEvent)
        if is_mouse and not isinstance(event, events.MouseUp) and not self.guard.is_open:
            if isinstance(event, events.MouseDown):
                self.guard.close()
            return
        super()._forward_event(event)

    def on_paste(self, event: events.Paste) -> None:
        self.guard.close()
        event.stop()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Guard the actions too: priority keys run them before `on_key` is asked. Textual also
        asks without any key, to learn which are on offer: that is no reason to wait longer.
        """
        return self.guard.is_open

    def begin_quiet(self) -> None:
        """Let no key count until none came for a moment."""
        self.guard.close()
        self.draw_guarded()
        self._await_quiet()

    def draw_guarded(self) -> None:
        """Draw what tells whether keys count."""

    def enter(self) -> None:
        """The quiet has passed: take the focus."""

    def _await_quiet(self) -> None:
        """Enter when the guard opens; a key meanwhile only puts that off."""
        if self.guard.is_open:
            self.enter()
            self.draw_guarded()
        else:
            self.set_timer(self.guard.remaining_seconds, self._await_quiet)
