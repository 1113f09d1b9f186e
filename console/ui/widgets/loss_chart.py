"""The chart of the training loss: raw and smoothed, with the run's phases and restarts."""

from __future__ import annotations

import os
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from console.chart.axis import Scale
from console.chart.cell_rows import Ink, Row
from console.chart.glyphs import Glyphs, choose_glyphs
from console.chart.plot import ChartData, Look, draw
from console.operations.actions import Place
from console.ui.keys import bindings_at

WINDOWS: tuple[int | None, ...] = (None, 10_000, 1_000, 100)
"""The windows to choose from, in steps, widest first; None is the whole history."""


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
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHART)

    data: reactive[ChartData] = reactive(ChartData, repaint=False)
    look: reactive[Look] = reactive(Look, repaint=False)

    def __init__(
        self,
        *,
        glyphs: Glyphs | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs or choose_glyphs(os.environ)
        self._rows: list[Row] = []
        self._styles: dict[Ink, Style] = {}

    def show(self, data: ChartData) -> None:
        """Show this from now on. The same again draws nothing."""
        self.data = data

    def watch_data(self) -> None:
        self._redraw()

    def watch_look(self) -> None:
        self._redraw()

    def on_resize(self) -> None:
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """One row of the content."""
        if y >= len(self._rows):
            return Strip.blank(self.content_size.width, self.rich_style)
        segments = [Segment(text, self._style(ink)) for text, ink in self._rows[y]]
        return Strip(segments, self.content_size.width)

    def action_toggle_scale(self) -> None:
        """Change between a logarithmic and a linear axis."""
        scale = Scale.LINEAR if self.look.scale is Scale.LOG else Scale.LOG
        self.look = Look(scale=scale, window_steps=self.look.window_steps)

    def action_narrow(self) -> None:
        """Show the next narrower window."""
        self._move_window(+1)

    def action_widen(self) -> None:
        """Show the next wider window."""
        self._move_window(-1)

    def _move_window(self, by: int) -> None:
        index = WINDOWS.index(self.look.window_steps) + by
        if 0 <= index < len(WINDOWS):
            self.look = Look(scale=self.look.scale, window_steps=WINDOWS[index])

    def _redraw(self) -> None:
        """Draw anew, and have only those rows sent to the terminal that are different now."""
        size, old = self.content_size, self._rows
        self._rows = draw(self.data, self.look, self._glyphs, width=size.width, height=size.height)
        if len(old) != len(self._rows):
            self.refresh()
            return
        changed = [row for row, now in enumerate(self._rows) if now != old[row]]
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
