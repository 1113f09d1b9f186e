"""How the run is, series by series: what is wrong first, and since when."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from console import formatting
from console.chart.track import Track
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.screens.listed import ListedScreen, place_of
from console.ui.theme import DIM, GLYPHS, GOOD, RED
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign, left, names_within, right
from console.view.health_rows import HealthRow, health_rows
from console.view.health_words import verdict_words
from console.view.run_view import Severity

_SINCE_CELLS, _AGE_CELLS = 16, 14
_LEAST_SERIES, _MOST_SERIES, _MOST_TEXT = 20, 34, 44
_TRACKS = {
    "loss": Track.LOSS,
    "val_loss": Track.VAL_LOSS,
    "train–val gap": Track.VAL_LOSS,
    "score": Track.SCORE,
    "grad_norm": Track.GRAD_NORM,
    "clipping": Track.GRAD_NORM,
    "step time": Track.RATE,
    "tokens/s": Track.RATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What of the run is to be looked at."""

    step: int | None
    track: Track | None


def track_of(series: str) -> Track | None:
    """The track of the chart that shows a series best."""
    if series.startswith("loss of "):
        return Track.LOSS_BY_ARM
    return Track.VAL_LOSS if series.startswith("val_loss of ") else _TRACKS.get(series)


class HealthScreen(ListedScreen[Sight]):
    """Ends with what shows the series that was chosen, or nothing."""

    HINT = "Enter to its step, on the chart   T dates   Esc back"

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.HEALTH)

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock=clock)
        self._rows: list[HealthRow] = []
        self._names: list[str] = []
        self._is_judged = False
        """Whether the rows are of a run that was judged: until then no row was chosen."""

    def action_go(self) -> None:
        """End with the step and the track of the line under the cursor."""
        row = self._here()
        track = track_of(row.series) if row is not None else None
        if row is not None and not (row.since_step is None and track is None):
            self.dismiss(Sight(step=row.since_step, track=track))

    def draw(self) -> None:
        if self.glance is None:
            return
        view, rows = self.glance.view, self.query_one(CursorList)
        here = self._here() if self._is_judged else None
        self._rows, self._is_judged = health_rows(view, self.clock()), view.is_judged
        self.show_title(f"Health: {foreign(verdict_words(view))}")
        series = [row.series for row in self._rows]
        self._names = names_within([foreign(each) for each in series], self._series_cells - 3)
        at = place_of(here.series, series, rows.cursor) if here is not None else 0
        rows.show_rows(len(self._rows), self._line, at)
        self.draw_detail()

    @property
    def _series_cells(self) -> int:
        quarter = self.query_one(CursorList).line_width // 4
        return min(max(quarter, _LEAST_SERIES), _MOST_SERIES)

    def draw_detail(self) -> None:
        row = self._here()
        if row is None:
            return
        told = f"{row.series}: {row.text}"
        if row.is_ill and row.since_step is not None:
            self.show_detail(row.since_t, row.since_step, f"{told}; {row.sureness}")
        else:
            put(self.query_one("#listed-detail", Static), Content(f"\n{foreign(told)}"))

    def _here(self) -> HealthRow | None:
        at = self.query_one(CursorList).cursor
        return self._rows[at] if at < len(self._rows) else None

    def _line(self, index: int) -> Content:
        row, glyph, style = self._rows[index], "●", ""
        if row.is_ill:
            glyph, style = "✖", RED
        elif row.is_warning:
            glyph, style = GLYPHS[Severity.ATTENTION], "bold"
        room = self.query_one(CursorList).line_width - self._series_cells
        since = self._since(row) if row.since_step is not None else ""
        cells = min(max(room - len(since), 10), _MOST_TEXT) if since else room
        sureness = f"   {row.sureness}" if since else ""
        if cells + len(since) + len(sureness) > room:
            sureness = ""  # it is below, too
        return Content.assemble(
            (f"{glyph} ", style or GOOD),
            (left(self._names[index], self._series_cells - 2), style),
            (left(foreign(row.text), cells), style),
            (since + sureness, DIM),
        )

    def _since(self, row: HealthRow) -> str:
        since = f" since ~{formatting.about_steps(row.since_step or 0)}"
        when = formatting.when(row.since_t, self.clock(), is_dated=self.is_dated)
        return left(since, _SINCE_CELLS) + right(when, _AGE_CELLS)
