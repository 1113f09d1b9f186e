"""The log pane: what the trainer prints, with searches, levels, times and a pager."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from console.operations.actions import Place
from console.process.pager import pager_command
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.widgets.log_view import LogView
from console.ui.widgets.typed_search import TypedSearch
from console.view.goto import GoToError, time_meant
from console.view.log_file import Level, search_for
from trainer.rundir.names import escape_control


class LogPane(LogView):
    """Where the operator looks for something in the log."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.LOG)

    class PagerWanted(Message):
        """The operator wants to read the log by this command."""

        def __init__(self, command: list[str]) -> None:
            super().__init__()
            self.command = command

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._time = TypedSearch(opener="at")

    def action_follow(self) -> None:
        """Follow the end; no step is chosen any more, for any pane."""
        self.follow()
        self.post_message(StepChosen(None))

    def action_stop_reading(self) -> None:
        """End a search under way, else follow the end."""
        if self._reader.is_reading:
            self._reader.cancel()
            self._draw()
        else:
            self.action_follow()

    def action_next_level(self) -> None:
        """All lines, warnings, or errors only."""
        self._level = self._level.next
        self.follow()

    def action_search(self) -> None:
        """Type what to find."""
        self._search.begin()
        self._draw()

    def action_go_to_time(self) -> None:
        """Type a time."""
        self._time.begin()
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Letters are part of what is typed, a search or a time."""
        if not self._search.is_typing and self._time.takes(event):
            if event.key == "enter":
                self._go_to_time(self._time.text)
            self._draw()
        elif self._search.takes(event):
            self._found = None
            if event.key == "enter":
                self.action_find(-1)
            self._draw()

    def action_find(self, by: int) -> None:
        """Go to the match before (-1) or after (1) this place."""
        if self._log is None or not self._search.text:
            return
        log, wanted = self._log, (search_for(self._search.text), *self._level.wanted)
        here = self._found if self._found is not None else self._bottom()
        place = partial(self._go_to_place, why_not="no further match")
        if by < 0:
            self._reader.read(lambda told: log.before(here, 1, wanted, told), place)
        else:
            start = self._line_end(here)
            self._reader.read(lambda told: log.after(start, 1, wanted, told), place)

    def select(self, step: int | None) -> None:
        """Show the log around this step; `None` follows the end."""
        if step is None:
            self.follow()
        elif (log := self._log) is not None:
            place = partial(self._go_to_place, why_not="no line names that step")
            self._reader.read(lambda told: log.place_of(step), place)

    def _go_to_time(self, typed: str) -> None:
        if (log := self._log) is None or not typed:
            return
        try:
            t = time_meant(typed, now=self._clock())
        except GoToError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        place = partial(self._go_to_place, why_not="no line is of that time or before")
        self._reader.read(lambda told: log.place_at(t), place)

    def action_page_here(self) -> None:
        """Ask for the operator's pager at the line on top."""
        if self._log is not None:
            command = pager_command(os.environ, self._log.path, self._top())
            self.post_message(self.PagerWanted(command))

    def _subtitle(self) -> str:
        if self._search.is_typing:
            return f"/{escape_control(self._search.text)}▏"
        if self._time.is_typing:
            return f"@{escape_control(self._time.text)}▏ -3h, 22:40 or 2026-06-04 22:40"
        place = "" if self._is_following else "F follows"
        level = "" if self._level is Level.ALL else self._level.value
        words = f"/{escape_control(self._search.text)}" if self._search.text else ""
        return " · ".join(each for each in (level, words, self._reader.told, place) if each)
