"""Help: every key of every part of the console, from the table of actions."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from console.operations.actions import Action, Place, actions_at
from console.ui.keys import binding_of, bindings_at
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import left

_KEY_CELLS = 14
_NAME_CELLS = 14


class HelpScreen(ModalScreen[None]):
    """A list of keys in sections, one a part of the console."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.HELP)

    def __init__(self, *, is_read_only: bool = False) -> None:
        super().__init__()
        self._is_read_only = is_read_only

    def compose(self) -> ComposeResult:
        yield LineView(id="help")

    def on_mount(self) -> None:
        places = [place for place in Place if not (self._is_read_only and place.is_steering)]
        lines = [line for place in places for line in self._section(place)]
        view = self.query_one(LineView)
        view.show_titles("Keys")
        view.styles.max_height = len(lines) + view.styles.gutter.height
        view.show_lines(len(lines), lines.__getitem__)

    def _section(self, place: Place) -> Iterable[Content]:
        yield Content.styled(place.value, "bold")
        for action in actions_at(place):
            if self._is_read_only and action.changes_run:
                continue
            yield Content.assemble(
                (f"  {left(self._keys(action), _KEY_CELLS)}", ACCENT),
                left(action.title, _NAME_CELLS),
                (self._description(action), DIM),
            )
        yield Content()

    def _description(self, action: Action) -> str:
        less = action.read_only_description if self._is_read_only else ""
        return less or action.description

    def _keys(self, action: Action) -> str:
        bindings = Binding.make_bindings([binding_of(action)])
        # Two keys that look the same (`+` with and without shift) are one to a person.
        return " ".join(dict.fromkeys(self.app.get_key_display(each) for each in bindings))
