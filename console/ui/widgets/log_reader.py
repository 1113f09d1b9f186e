"""Reading a log in a thread for a pane that goes on meanwhile: one reading at a time."""

import asyncio
from collections.abc import Callable
from threading import Event

from textual.widget import Widget

from console import formatting
from console.view.log_file import LogLine, Progress

Lines = list[LogLine]

_PROGRESS_SECONDS = 0.2


class LogReader:
    """What is asked for last counts: it ends the reading before it."""

    def __init__(self, pane: Widget, show: Callable[[], None]) -> None:
        """`show`: draw the pane, whose reader this is, anew."""
        self._pane = pane
        self._show = show
        self._stop = Event()
        self.is_reading = False
        self.told = ""
        """How far a reading is, or what came of it, for a person."""

    def cancel(self) -> None:
        """End a reading under way; nothing is placed."""
        self._stop.set()
        self.is_reading, self.told = False, ""

    def read(self, read: Callable[[Progress], Lines], place: Callable[[Lines], None]) -> None:
        """Read in a thread and place what came, unless something else was asked for since."""
        self.cancel()
        self._stop, self.is_reading = Event(), True
        self._pane.run_worker(self._reading(read, place, self._stop), group="log")

    async def _reading(
        self, read: Callable[[Progress], Lines], place: Callable[[Lines], None], stop: Event
    ) -> None:
        reached: list[int] = []

        def told(at: int) -> bool:
            reached[:] = [at]
            return not stop.is_set()

        task = asyncio.create_task(asyncio.to_thread(read, told))
        try:
            while not (await asyncio.wait((task,), timeout=_PROGRESS_SECONDS))[0]:
                if not stop.is_set() and reached:
                    self.told = f"at {formatting.size(reached[0])}, Esc ends"
                    self._show()
            lines = task.result()
        finally:
            stop_was_set = stop.is_set()
            stop.set()
        if not stop_was_set:
            self.is_reading, self.told = False, ""
            place(lines)
            self._show()
