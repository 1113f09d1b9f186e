"""The dialog in which the chart's tracks are chosen, several at once."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import SelectionList, Static
from textual.widgets.selection_list import Selection

from console.chart.track import Track
from console.operations.actions import Place
from console.ui.keys import bindings_at


class TracksScreen(ModalScreen[tuple[Track, ...]]):
    """Ends with the tracks that are marked, in the order of the list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.TRACKS)

    def __init__(self, known: tuple[Track, ...], shown: tuple[Track, ...]) -> None:
        """`known`: those the record has anything of."""
        super().__init__()
        self._known = known
        self._shown = shown

    def compose(self) -> ComposeResult:
        with Container(id="tracks") as box:
            box.border_title = "Tracks of the chart"
            yield SelectionList[Track](
                *(Selection(str(track), track, track in self._shown) for track in self._known)
            )
            yield Static("Space marks   Enter done   Esc done", markup=False)

    def action_done(self) -> None:
        """Draw what is marked."""
        marked = set(self.query_one(SelectionList).selected)
        self.dismiss(tuple(track for track in self._known if track in marked))
