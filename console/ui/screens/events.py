"""What happened to the run, the newest first, all of it or one kind."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.reactive import var

from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.listed import ListedScreen, place_of
from console.ui.theme import DIM, GLYPHS, RED
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign, left
from console.view.run_view import Event, EventKind, Severity

_KIND_CELLS = 13
_STYLES = {Severity.BAD: RED, Severity.ATTENTION: "bold"}


class EventsScreen(ListedScreen[int]):
    """Ends with the step of the event that was chosen, or none."""

    HINT = "Enter to its step   f kind   T dates   Esc back"

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.EVENTS)

    kind: var[EventKind | None] = var(None, init=False)
    """`None`: all kinds."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock=clock)
        self._rows: list[Event] = []

    def watch_kind(self) -> None:
        self.draw()

    def action_filter(self, by: int) -> None:
        """Show the next kind of those that occurred, or all again."""
        kinds = [None, *sorted({event.kind for event in self._events()})]
        at = kinds.index(self.kind) if self.kind in kinds else 0
        self.kind = kinds[(at + by) % len(kinds)]

    def action_go(self) -> None:
        """End with the step under the cursor."""
        event = self._here()
        if event is not None and event.step is not None:
            self.dismiss(event.step)

    def draw(self) -> None:
        here, rows = self._here(), self.query_one(CursorList)
        events = self._events()
        self._rows = [e for e in reversed(events) if self.kind in (None, e.kind)]
        counted = f"{len(self._rows):,}"
        if self.kind is not None:
            counted = f"{self.kind}, {counted} of {len(events):,}"
        self.show_title(f"Events: {counted}")
        if not self._rows:
            self.show_nothing("nothing has happened yet")
            return
        rows.show_rows(len(self._rows), self._line, place_of(here, self._rows, rows.cursor))
        self.draw_detail()

    def draw_detail(self) -> None:
        event = self._here()
        if event is not None:
            self.show_detail(event.t, event.step, event.text)

    def _events(self) -> tuple[Event, ...]:
        return self.glance.events if self.glance is not None else ()

    def _here(self) -> Event | None:
        at = self.query_one(CursorList).cursor
        return self._rows[at] if at < len(self._rows) else None

    def _line(self, index: int) -> Content:
        event = self._rows[index]
        style = _STYLES.get(event.severity, "")
        return Content.assemble(
            (self.place(event.t, event.step), DIM),
            (left(f"{GLYPHS[event.severity]} {event.kind}", _KIND_CELLS), style),
            (foreign(event.text), style),
        )
