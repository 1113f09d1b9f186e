"""The dialog in which the chart's tracks are chosen, several at once."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import Static

from console.chart.track import Track
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.widgets.choices import Choice, Choices


class TracksScreen(ModalScreen[tuple[Track, ...]]):
    """Ends with the tracks that are marked, in the order of the list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.TRACKS)

    def __init__(self, known: tuple[Track, ...], shown: tuple[Track, ...]) -> None:
        """`known`: those the record has anything of."""
        super().__init__()
        self._known = known
        self._marked = {track for track in shown if track in known}

    def compose(self) -> ComposeResult:
        with Container(id="tracks") as box:
            box.border_title = "Tracks of the chart"
            yield Choices()
            yield Static("Enter marks   Esc done", markup=False)

    def on_mount(self) -> None:
        self._offer()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        self._marked ^= {Track(event.key)}
        self._offer()

    def action_done(self) -> None:
        """Draw what is marked."""
        self.dismiss(tuple(track for track in self._known if track in self._marked))

    def _offer(self) -> None:
        choices = [
            Choice(key=track, text=f"[{'x' if track in self._marked else ' '}] {track}")
            for track in self._known
        ]
        self.query_one(Choices).offer(choices)
