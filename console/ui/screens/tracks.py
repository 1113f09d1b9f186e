"""The dialog in which the chart's tracks are chosen, several at once."""

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

from console.chart.track import AnyTrack, Field
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.theme import AMBER, DIM
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.text import foreign

MOST_FIELDS = 4
"""Of the trainer's own that are read at once: each keeps 16 bytes a step."""


class TracksScreen(ModalScreen[tuple[AnyTrack, ...]]):
    """Ends with the tracks that are marked, in the order of the list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.TRACKS)

    def __init__(
        self,
        known: tuple[AnyTrack, ...],
        shown: tuple[AnyTrack, ...],
        find: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`known`: those the record has anything of; `find` names the fields that only the run's
        trainer knows: it may block, and raise `OSError`.
        """
        super().__init__()
        fields = tuple(track for track in shown if isinstance(track, Field))
        self._known = (*known, *fields)
        self._marked = {track for track in shown if track in self._known}
        self._find = find

    def compose(self) -> ComposeResult:
        with Container(id="tracks") as box:
            box.border_title = "Tracks of the chart"
            yield CursorList()
            yield Static(id="tracks-words", markup=False)
            yield Static("Enter marks   Esc done", markup=False)

    def on_mount(self) -> None:
        self._offer()
        self._look_for_fields()

    @work(group="fields")
    async def _look_for_fields(self) -> None:
        try:
            names = await asyncio.to_thread(self._find)
        except OSError:  # no record, no fields
            return
        fields = (Field(name) for name in names)
        self._known += tuple(field for field in fields if field not in self._known)
        self._offer()

    def action_mark(self) -> None:
        """Mark the track under the cursor, or take the mark back."""
        track = self._known[self.query_one(CursorList).cursor]
        fields = [each for each in self._marked if isinstance(each, Field)]
        is_full = isinstance(track, Field) and len(fields) >= MOST_FIELDS
        if is_full and track not in self._marked:
            words = f"{MOST_FIELDS} of the trainer's own fields are the most"
            put(self.query_one("#tracks-words", Static), Content.styled(words, AMBER))
            return
        self._marked ^= {track}
        self._offer()

    def action_done(self) -> None:
        """Draw what is marked."""
        self.dismiss(tuple(track for track in self._known if track in self._marked))

    def _offer(self) -> None:
        rows = self.query_one(CursorList)
        rows.show_rows(len(self._known), self._line, rows.cursor)

    def _line(self, index: int) -> Content:
        track = self._known[index]
        mark = "x" if track in self._marked else " "
        own = "  the trainer's own" if isinstance(track, Field) else ""
        return Content.assemble(f"[{mark}] {foreign(str(track))}", (own, DIM))
