"""The line that names the panes where only one of them has room."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from console.ui.theme import DIM


class PaneTabs(Static):
    """The panes' numbers and names; where the line is short, only the chosen one's name."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(id="tabs", markup=False)
        self._names = names

    def show(self, chosen: int, width: int) -> None:
        """Mark the chosen pane (from 0) in a line of `width` cells."""
        whole = tab_line(self._names, chosen)
        line = whole if whole.cell_length <= width else tab_line(self._names, chosen, is_short=True)
        if not (isinstance(self.content, Content) and self.content.is_same(line)):
            self.update(line)


def tab_line(names: Sequence[str], chosen: int, *, is_short: bool = False) -> Content:
    """` 1 loss  2 samples …`, the chosen one reversed."""
    parts = []
    for index, name in enumerate(names):
        is_named = index == chosen or not is_short
        text = f" {index + 1} {name} " if is_named else f" {index + 1} "
        parts.append((text, "bold reverse" if index == chosen else DIM))
    return Content.assemble(*parts)
