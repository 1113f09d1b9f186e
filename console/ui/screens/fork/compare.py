"""The compare screen: two runs' curves in one chart, and under it what can be said of them."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.chart.axis import Scale
from console.chart.chart_data import Look
from console.fork.comparison_chart import SideBySide
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.fork.compare_lines import comparison_lines
from console.ui.screens.framed import put
from console.ui.theme import DIM, RED
from console.ui.widgets.line_view import LineView
from console.ui.widgets.loss_chart import LossChart
from console.ui.widgets.text import foreign
from trainer.rundir.outcomes import RunError


class CompareScreen(ModalScreen[None]):
    """Reads both runs in a process of its own, then shows them; r reads them anew."""

    # Textual declares it as an instance variable.
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.COMPARE)

    def __init__(self, names: tuple[str, str], read: Callable[[], SideBySide]) -> None:
        """`read` may block, and raise `RunError` or `OSError`."""
        super().__init__()
        self._names = names
        self._read = read
        self._shown: SideBySide | None = None

    def compose(self) -> ComposeResult:
        with Container(id="side-by-side") as box:
            first, second = map(foreign, self._names)
            box.border_title = Content(f"{first} and {second}")
            yield LossChart(id="side-chart")
            yield LineView(id="side-lines")
            yield Static(id="side-hint", markup=False)

    def on_mount(self) -> None:
        chart = self.query_one(LossChart)
        chart.look = Look(scale=Scale.LINEAR)
        chart.border_title = "training loss, EMA"
        self.query_one(LineView).focus()
        self.action_read()

    def on_resize(self) -> None:
        self._draw()

    @work(exclusive=True)
    async def action_read(self) -> None:
        """Read both runs again."""
        self._hint("reading both runs …")
        try:
            self._shown = await asyncio.to_thread(self._read)
        except (RunError, OSError) as error:
            self._hint(foreign(str(error)), RED)
            return
        self._hint("↑ ↓ scroll   Tab chart   r read anew   Esc back")
        self.query_one(LossChart).show(self._shown.chart())
        self._draw()

    def _hint(self, words: str, style: str = DIM) -> None:
        put(self.query_one("#side-hint", Static), Content.styled(words, style))

    def _draw(self) -> None:
        view = self.query_one(LineView)
        if self._shown is not None:
            lines = comparison_lines(self._shown.comparison, view.line_width)
            view.show_lines(len(lines), lines.__getitem__)
