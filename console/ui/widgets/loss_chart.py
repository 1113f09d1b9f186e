"""The chart of a run: its loss and whatever else is recorded, over its steps."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from console.chart import navigation
from console.chart.axis import Scale
from console.chart.cell_rows import Ink
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import Glyphs, choose_glyphs
from console.chart.kept import Kept
from console.chart.plot import Drawing, draw
from console.chart.track import Track
from console.chart.viewport import Viewport
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen

_ZOOM = 2.0
_PAN = 0.25
"""Of the window, for a key or a turn of the wheel."""
_DIGITS = 10
"""No step has more."""


class LossChart(Widget, can_focus=True):
    """Draws one `ChartData`; `show` it a new one whenever the run has changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"loss-chart--{ink.name.lower()}" for ink in Ink}

    DEFAULT_CSS = """
    LossChart {
        height: 1fr;
        & .loss-chart--raw { color: $text-muted; }
        & .loss-chart--smooth { color: $text-primary; text-style: bold; }
        & .loss-chart--phase { color: $text-warning; }
        & .loss-chart--restart { color: $text-error; }
        & .loss-chart--axis { color: $foreground 40%; }
        & .loss-chart--text { color: $text-muted; }
        & .loss-chart--beyond { color: $text-warning; text-style: bold; }
        & .loss-chart--cursor { color: $foreground; text-style: bold; }
        & .loss-chart--window { color: $text-primary; text-style: bold; }
        & .loss-chart--curve_1 { color: ansi_blue; }
        & .loss-chart--curve_2 { color: ansi_yellow; }
        & .loss-chart--curve_3 { color: ansi_green; }
        & .loss-chart--curve_4 { color: ansi_magenta; }
        & .loss-chart--curve_5 { color: ansi_cyan; }
        & .loss-chart--curve_6 { color: ansi_red; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHART)

    data: reactive[ChartData] = reactive(ChartData, repaint=False)
    look: reactive[Look] = reactive(Look, repaint=False)

    class TracksAsked(Message):
        """The operator wants to choose what is drawn."""

        def __init__(self, chart: LossChart) -> None:
            super().__init__()
            self.chart = chart

    def __init__(
        self,
        *,
        glyphs: Glyphs | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs or choose_glyphs(os.environ)
        self._drawing = Drawing(rows=[])
        self._kept = Kept()
        self._before_whole = Viewport()
        self._pressed: int | None = None
        self._styles: dict[Ink, Style] = {}

    def show(self, data: ChartData) -> None:
        """Show this from now on. The same again draws nothing."""
        self.data = data

    def select(self, step: int | None) -> None:
        """Put the cursor on a step; `None` takes it away."""
        if step is None:
            if self.look.cursor is not None:
                self.look = navigation.follow(self.look)
        elif step != self.look.cursor:
            self.look = navigation.go_to(self.look, self.data, step)

    def show_tracks(self, tracks: tuple[Track, ...]) -> None:
        """Draw these, one under the other."""
        self.look = replace(self.look, tracks=tracks or (Track.LOSS,))

    def watch_data(self) -> None:
        self._redraw()

    def watch_look(self, before: Look, now: Look) -> None:
        self._redraw()
        if navigation.is_following(before) != navigation.is_following(now):
            self.refresh_bindings()

    def on_resize(self) -> None:
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """One row of the content."""
        if y >= len(self._drawing.rows):
            return Strip.blank(self.content_size.width, self.rich_style)
        segments = [Segment(text, self._style(ink)) for text, ink in self._drawing.rows[y]]
        return Strip(segments, self.content_size.width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Follow only what isn't followed yet: the key is the screen's else."""
        return action != "follow" or not navigation.is_following(self.look)

    def action_toggle_scale(self) -> None:
        """Change between a logarithmic and a linear axis."""
        scale = Scale.LINEAR if self.look.scale is Scale.LOG else Scale.LOG
        self.look = replace(self.look, scale=scale)

    def action_zoom_in(self) -> None:
        """Show half as many steps."""
        self.look = navigation.zoom(self.look, self.data, 1 / _ZOOM)

    def action_zoom_out(self) -> None:
        """Show twice as many steps."""
        self.look = navigation.zoom(self.look, self.data, _ZOOM)

    def action_whole(self) -> None:
        """Show the whole run, or again what was in sight before."""
        before, self._before_whole = self._before_whole, self.look.viewport
        if self.look.viewport == Viewport():
            self.look = replace(self.look, viewport=before)
        else:
            self.look = navigation.show_whole(self.look)

    def action_pan(self, by: int) -> None:
        """Move the window to the older (-1) or the newer (1) steps."""
        self.look = navigation.pan(self.look, self.data, by * _PAN)

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
        """Take the cursor away and stay with the newest."""
        self._choose(navigation.follow(self.look))

    def action_go_to(self) -> None:
        """Begin to type a step."""
        if len(self.data.series):
            self.look = replace(self.look, typed="")

    def action_next_track(self) -> None:
        """Draw the next of what is recorded."""
        self.look = navigation.next_track(self.look, self.data)

    def action_choose_tracks(self) -> None:
        """Choose what is drawn."""
        self.post_message(self.TracksAsked(self))

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
                self._choose(navigation.go_to(self.look, self.data, int(typed)))
        elif event.key == "backspace":
            self.look = replace(self.look, typed=typed[:-1])
        elif event.character in tuple("0123456789"):
            self.look = replace(self.look, typed=(typed + event.character)[:_DIGITS])

    def on_blur(self) -> None:
        self.look = replace(self.look, typed=None)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn(event, 1 / _ZOOM, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn(event, _ZOOM, 1)

    def _turn(self, event: events.MouseEvent, factor: float, by: int) -> None:
        """The wheel zooms where the pointer is, with Shift or Ctrl it pans."""
        event.stop()
        if event.shift or event.ctrl:
            self.action_pan(by)
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

    def _choose(self, look: Look) -> None:
        """Take a look over, and tell the other panes if another step is chosen by it."""
        is_moved = look.cursor != self.look.cursor
        self.look = look
        if is_moved:
            self.post_message(StepChosen(look.cursor))

    def _redraw(self) -> None:
        """Draw anew, and have only those rows sent to the terminal that are different now."""
        size, old = self.content_size, self._drawing.rows
        self._drawing = draw(
            self.data,
            self.look,
            self._glyphs,
            width=size.width,
            height=size.height,
            kept=self._kept,
        )
        rows = self._drawing.rows
        if len(old) != len(rows):
            self.refresh()
            return
        changed = [row for row, now in enumerate(rows) if now != old[row]]
        if changed:
            self.refresh(*(Region(0, row, size.width, 1) for row in changed))

    def notify_style_update(self) -> None:
        """Textual's word that the styles may be others now."""
        self._styles.clear()
        super().notify_style_update()

    def _style(self, ink: Ink) -> Style:
        if ink not in self._styles:
            name = f"loss-chart--{ink.name.lower()}"
            self._styles[ink] = self.get_component_rich_style(name)
        return self._styles[ink]
