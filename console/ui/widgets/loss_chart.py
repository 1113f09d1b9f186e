"""The chart of a run: its loss and whatever else is recorded, over its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from console import formatting
from console.chart import navigation
from console.chart.axis import Scale
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.widgets.pointed_chart import PAN, ZOOM, PointedChart

_DIGITS = 10
"""No step has more."""


class LossChart(PointedChart, can_focus=True):
    """What its keys do."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHART)

    class TracksAsked(Message):
        """The operator wants to choose what is drawn."""

        def __init__(self, chart: LossChart) -> None:
            super().__init__()
            self.chart = chart

    class TextAsked(Message):
        """The operator wants to know what a step was fed."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class OverlayAsked(Message):
        """The operator wants to lay other runs over this one."""

    class OverlayLeft(Message):
        """The operator wants to see this run alone again."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Follow only what isn't followed yet: the key is the screen's else."""
        if action != "follow":
            return True
        return bool(self.data.others) or not navigation.is_following(self.look)

    def action_toggle_scale(self) -> None:
        """Change between a logarithmic and a linear axis."""
        scale = Scale.LINEAR if self.look.scale is Scale.LOG else Scale.LOG
        self.look = replace(self.look, scale=scale)

    def action_zoom_in(self) -> None:
        """Show half as many steps."""
        self.look = navigation.zoom(self.look, self.data, 1 / ZOOM)

    def action_zoom_out(self) -> None:
        """Show twice as many steps."""
        self.look = navigation.zoom(self.look, self.data, ZOOM)

    def action_whole(self) -> None:
        """Show the whole run."""
        self.look = navigation.show_whole(self.look)

    def action_pan(self, by: int) -> None:
        """Move the window to the older (-1) or the newer (1) steps."""
        self.look = navigation.pan(self.look, self.data, by * PAN)

    def action_move(self, by: int) -> None:
        """Move the cursor by columns."""
        self._choose(navigation.move(self.look, self.data, self._drawing, by))

    def action_move_to_end(self, is_last: bool) -> None:
        """Move the cursor to the first or the last step in sight."""
        self._choose(navigation.move_to_end(self.look, self.data, is_last=is_last))

    def action_move_to_mark(self, by: int) -> None:
        """Move the cursor to the next mark or the one before."""
        self._choose(navigation.move_to_mark(self.look, self.data, by))

    def action_follow(self) -> None:
        """Take the cursor away and stay with the newest; or else what is laid over."""
        if navigation.is_following(self.look):
            self.post_message(self.OverlayLeft())
            return
        self._choose(navigation.follow(self.look))

    def action_go_to(self) -> None:
        """Begin to type a step."""
        if len(self.data.series):
            self.look = replace(self.look, typed="")

    def action_ask_text(self) -> None:
        """What the step under the cursor was fed; the newest where there is none."""
        recorded = self.data.series.step
        if len(recorded) and self.data.names is None:
            step = self.look.cursor if self.look.cursor is not None else int(recorded[-1])
            self.post_message(self.TextAsked(step))

    def action_next_track(self) -> None:
        """Draw the next of what is recorded."""
        self.look = navigation.next_track(self.look, self.data)

    def action_choose_tracks(self) -> None:
        """Choose what is drawn."""
        self.post_message(self.TracksAsked(self))

    def action_overlay(self) -> None:
        """Choose runs to lay over this one, or take those away that are."""
        if self.data.names is None:
            self.post_message(self.OverlayLeft() if self.data.others else self.OverlayAsked())

    def action_smoother(self, by: int) -> None:
        """Smooth more (1) or less (-1)."""
        self.look = navigation.smoother(self.look, by)

    def action_next_unit(self) -> None:
        """Draw over steps, tokens or time."""
        self.look = navigation.next_unit(self.look, self.data)

    def on_key(self, event: events.Key) -> None:
        """Digits of the step to go to; any other key ends the typing and does what it does."""
        typed = self.look.typed
        if typed is None:
            return
        event.stop()
        event.prevent_default()
        if event.key in ("enter", "escape"):
            self.look = replace(self.look, typed=None)
            if event.key == "enter" and typed:
                self._go_to(int(typed))
        elif event.key == "backspace":
            self.look = replace(self.look, typed=typed[:-1])
        elif event.character in tuple("0123456789"):
            self.look = replace(self.look, typed=(typed + event.character)[:_DIGITS])

    def _go_to(self, step: int) -> None:
        """Also to the nearest that is recorded, but not without a word."""
        self._choose(navigation.go_to(self.look, self.data, step))
        recorded = self.data.series.step
        first, last = int(recorded[0]), int(recorded[-1])
        if not first <= step <= last:
            span = f"from {formatting.steps(first)} to {formatting.steps(last)}"
            words = f"step {formatting.steps(step)} is not recorded: the history goes {span}"
            self.notify(words, severity="warning", markup=False)

    def on_blur(self) -> None:
        self.look = replace(self.look, typed=None)
