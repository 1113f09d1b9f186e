"""A chart on the screen: what it shows, how it is looked at, and its rows in colour."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from console.chart import navigation
from console.chart.cell_rows import Ink
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import Glyphs, choose_glyphs
from console.chart.kept import Kept
from console.chart.plot import Drawing, draw
from console.chart.track import AnyTrack, Track
from console.ui.messages import StepChosen


class DrawnChart(Widget):
    """Draws one `ChartData`; `show` it a new one whenever the run has changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"loss-chart--{ink.name.lower()}" for ink in Ink}

    DEFAULT_CSS = """
    DrawnChart {
        height: 1fr;
        & .loss-chart--raw { color: $text-muted; }
        & .loss-chart--smooth { color: $text-primary; text-style: bold; }
        & .loss-chart--phase { color: $text-warning; }
        & .loss-chart--restart { color: $text-error; }
        & .loss-chart--alarm { color: $text-error; text-style: bold; }
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
        self._drawing = Drawing(rows=[])
        self._kept = Kept()
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

    def show_tracks(self, tracks: tuple[AnyTrack, ...]) -> None:
        """Draw these, one under the other."""
        self.look = replace(self.look, tracks=tracks or (Track.LOSS,))

    def watch_data(self, before: ChartData, now: ChartData) -> None:
        self._redraw()
        if bool(before.others) != bool(now.others):
            self.refresh_bindings()

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
