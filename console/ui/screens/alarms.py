"""The alarms that last, and those that nobody has acknowledged, the newest first."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.listed import STEP_CELLS, TIME_CELLS, ListedScreen, place_of
from console.ui.theme import DIM, RED
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign, left, right
from console.view.alarm_book import Alarm, unacknowledged

_STATE_CELLS = 15


class AlarmsScreen(ListedScreen[int]):
    """Ends with the step at which the chosen alarm's ill began, or it was raised; or none."""

    HEAD = right("raised", TIME_CELLS) + right("step", STEP_CELLS)

    HINT = "Enter to its step   a acknowledge   A all   T dates   Esc back"

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.ALARMS)

    class Acknowledged(Message):
        """The operator has taken note of these."""

        def __init__(self, alarms: Sequence[Alarm]) -> None:
            super().__init__()
            self.alarms = alarms

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock=clock)
        self._rows: list[Alarm] = []

    def action_go(self) -> None:
        """End with the step under the cursor."""
        alarm = self._here()
        if alarm is not None and alarm.place is not None:
            self.dismiss(alarm.place)

    def action_acknowledge(self) -> None:
        """Take note of the alarm under the cursor."""
        alarm = self._here()
        if alarm is not None:
            self.post_message(self.Acknowledged([alarm]))

    def action_acknowledge_all(self) -> None:
        """Take note of all."""
        self.post_message(self.Acknowledged(self._rows))

    def draw(self) -> None:
        here, rows = self._here(), self.query_one(CursorList)
        self._rows = list(reversed(self.glance.alarms if self.glance is not None else ()))
        waiting = unacknowledged(self._rows)
        self.show_title(f"Alarms: {waiting:,} to acknowledge" if waiting else "Alarms")
        if not self._rows:
            self.show_nothing("no alarm")
            return
        names = [_name(alarm) for alarm in self._rows]
        at = place_of(_name(here) if here is not None else None, names, rows.cursor)
        rows.show_rows(len(self._rows), self._line, at)
        self.draw_detail()

    def draw_detail(self) -> None:
        alarm = self._here()
        if alarm is None:
            return
        over = "" if alarm.over is None else f"over {formatting.moment(alarm.over)}: "
        self.show_detail(
            alarm.raised, alarm.step, over + alarm.text + self._since(alarm), what="raised "
        )

    def _since(self, alarm: Alarm) -> str:
        """How long ago what it warns of began, which may be long before it was found."""
        glance, step = self.glance, alarm.since_step
        at = None if glance is None or step is None else glance.series.at(step)
        if glance is None or at is None or np.isnan(t := float(glance.series.t[at])):
            return ""
        return f" ({formatting.age(self.clock() - t)} ago)"

    def _here(self) -> Alarm | None:
        at = self.query_one(CursorList).cursor
        return self._rows[at] if at < len(self._rows) else None

    def _line(self, index: int) -> Content:
        alarm = self._rows[index]
        state = "✖ lasts" if alarm.over is None else "✓ over"
        style = DIM if alarm.is_acknowledged else RED
        return Content.assemble(
            (self.place(alarm.raised, alarm.place), DIM),
            (left(f"{state}{', seen' if alarm.is_acknowledged else ''}", _STATE_CELLS), style),
            (foreign(alarm.text), style),
        )


def _name(alarm: Alarm) -> tuple[str, float]:
    return alarm.topic, alarm.raised
