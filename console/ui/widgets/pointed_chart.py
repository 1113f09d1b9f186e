"""A chart that the mouse works on: a press, a stretch that is drawn, and the wheel."""

from __future__ import annotations

from dataclasses import replace

from textual import events

from console.chart import navigation
from console.ui.widgets.drawn_chart import DrawnChart

ZOOM = 2.0
PAN = 0.25
"""Of the window, for a key or a turn of the wheel."""


class PointedChart(DrawnChart):
    """Click reads, drawing zooms, the wheel zooms and, with Shift or Ctrl, pans."""

    _pressed: int | None = None
    """The column in which the button went down."""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn(event, 1 / ZOOM, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn(event, ZOOM, 1)

    def _turn(self, event: events.MouseEvent, factor: float, by: int) -> None:
        """The wheel zooms where the pointer is, with Shift or Ctrl it pans."""
        event.stop()
        if event.shift or event.ctrl:
            self.look = navigation.pan(self.look, self.data, by * PAN)
            return
        around = navigation.step_at(self._drawing, self.data.series, self._column(event))
        self.look = navigation.zoom(self.look, self.data, factor, around)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and self._drawing.grid is not None:
            self._pressed = self._column(event)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._pressed is not None and self._column(event) != self._pressed:
            gutter = self._drawing.gutter
            ends = (max(at - gutter, 0) for at in (self._pressed, self._column(event)))
            self.look = replace(self.look, band=(next(ends), next(ends)))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """A place that was pressed gets the cursor; a stretch that was drawn is zoomed to."""
        if self._pressed is None:
            return
        self.release_mouse()
        pressed, self._pressed = self._pressed, None
        column, row = self._column(event), event.y - self.gutter.top
        look = replace(self.look, band=None)
        if abs(column - pressed) > 1:
            self.look = navigation.zoom_to(look, self.data, self._drawing, (pressed, column))
        else:
            self._choose(navigation.click(look, self.data, self._drawing, column, row))

    def _column(self, event: events.MouseEvent) -> int:
        return event.x - self.gutter.left
