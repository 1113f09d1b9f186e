"""The line that names the panes where only one of them has room."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from console.ui.theme import DIM


class PaneTabs(Static):
    """The panes' numbers and names; where the line is short, only the chosen one's name."""

    @dataclass
    class Chosen(Message):
        """A pane was clicked at; counted from 0."""

        index: int

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(id="tabs", markup=False)
        self._names = names
        self._texts: list[str] = []

    def show(self, chosen: int, width: int) -> None:
        """Mark the chosen pane (from 0) in a line of `width` cells."""
        self._texts = tab_texts(self._names, chosen)
        if sum(map(cell_len, self._texts)) > width:
            self._texts = tab_texts(self._names, chosen, is_short=True)
        line = tab_line(self._texts, chosen)
        if not (isinstance(self.content, Content) and self.content.is_same(line)):
            self.update(line)

    def on_click(self, event: events.Click) -> None:
        """The pane whose name is under the pointer is wanted."""
        ends = accumulate(map(cell_len, self._texts))
        index = next((index for index, end in enumerate(ends) if event.x < end), None)
        if index is not None:
            self.post_message(self.Chosen(index))


def tab_texts(names: Sequence[str], chosen: int, *, is_short: bool = False) -> list[str]:
    """` 1 loss `, ` 2 samples `, …; short: only the chosen one has its name."""
    return [
        f" {index + 1} {name} " if index == chosen or not is_short else f" {index + 1} "
        for index, name in enumerate(names)
    ]


def tab_line(texts: Sequence[str], chosen: int) -> Content:
    """The texts in a row, the chosen one reversed."""
    return Content.assemble(
        *((text, "bold reverse" if index == chosen else DIM) for index, text in enumerate(texts))
    )
