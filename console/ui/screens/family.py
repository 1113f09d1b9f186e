"""The run's tree: the runs that it came from, its pivots and its forks."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.content import Content

from console import formatting
from console.fork.family import Kin
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.listed import STEP_CELLS, ListedScreen
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign, right


class FamilyScreen(ListedScreen[int]):
    """Ends with the step of a pivot or a fork of this run, or none."""

    HINT = "Enter to its step   Esc back"

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.FAMILY)

    def __init__(
        self, read: Callable[[], tuple[Kin, ...]], *, clock: Callable[[], float] = time.time
    ) -> None:
        """`read` may block."""
        super().__init__(clock=clock)
        self._read = read
        self._rows: tuple[Kin, ...] = ()

    def on_mount(self) -> None:
        super().on_mount()
        self.look()

    @work(group="family", exclusive=True)
    async def look(self) -> None:
        """Read the tree."""
        self._rows = await asyncio.to_thread(self._read)
        self.draw()
        here = (index for index, kin in enumerate(self._rows) if kin.is_this)
        self.query_one(CursorList).cursor = next(here, 0)

    def action_go(self) -> None:
        """End with the step under the cursor, if it is one of this run."""
        kin = self._here()
        if kin is not None and kin.is_on_it and kin.step is not None:
            self.dismiss(kin.step)

    def draw(self) -> None:
        self.show_title("Where this run comes from, its pivots and forks")
        if not self._rows:
            self.show_nothing("reading …")
            return
        rows = self.query_one(CursorList)
        rows.show_rows(len(self._rows), self._line, rows.cursor)
        self.draw_detail()

    def draw_detail(self) -> None:
        kin = self._here()
        if kin is not None:
            self.show_words(kin.text)

    def _here(self) -> Kin | None:
        at = self.query_one(CursorList).cursor
        return self._rows[at] if at < len(self._rows) else None

    def _line(self, index: int) -> Content:
        kin = self._rows[index]
        step = "" if kin.step is None else formatting.steps(kin.step)
        style = f"bold {ACCENT}" if kin.is_this else ""
        this = "   this run" if kin.is_this else ""
        return Content.assemble(
            (right(step, STEP_CELLS) + "  " + kin.lead, DIM), (foreign(kin.text), style), this
        )
