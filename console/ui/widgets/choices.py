"""A few things to choose from, one under the other, each with what it means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.in_sight import TOO_SMALL, is_seen

_MARKED = "▸"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of them; `key` is what the code knows it by."""

    key: str
    text: str
    explained: str = ""


class Choices(Static, can_focus=True):
    """Arrows mark, Enter chooses; nothing is marked while the focus is elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHOICES)

    class Chosen(Message):
        """Enter was pressed on a choice."""

        def __init__(self, choices: "Choices", key: str) -> None:
            super().__init__()
            self.choices = choices
            self.key = key

        @property
        def control(self) -> "Choices":
            return self.choices

    cursor: reactive[int] = reactive(0)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, markup=False)
        self._offered: tuple[Choice, ...] = ()

    @property
    def marked(self) -> str:
        """The key of the choice under the cursor; empty where there is none."""
        return self._offered[self.cursor].key if self._offered else ""

    @property
    def n_offered(self) -> int:
        return len(self._offered)

    def offer(self, choices: Sequence[Choice]) -> None:
        """Offer these; the cursor stays where other words are given for the same choices."""
        offered = tuple(choices)
        if [c.key for c in offered] != [c.key for c in self._offered]:
            self.set_reactive(Choices.cursor, 0)
        self._offered = offered
        self._draw()

    def watch_cursor(self) -> None:
        self._draw()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def action_move(self, by: int) -> None:
        """Mark the next choice."""
        if self._offered:
            self.cursor = (self.cursor + by) % len(self._offered)

    def action_choose(self) -> None:
        """Choose what is marked, if it can be seen."""
        if not self._offered:
            return
        lines = self._lines()
        at = sum(1 + bool(choice.explained) for choice in self._offered[: self.cursor])
        if is_seen(self, lines, at):
            self.post_message(self.Chosen(self, self.marked))
        else:
            self.notify(TOO_SMALL, severity="warning", markup=False)

    def _lines(self) -> list[Content]:
        lines = []
        for index, choice in enumerate(self._offered):
            is_marked = index == self.cursor and self.has_focus
            style = f"bold {ACCENT}" if is_marked else ""
            lines.append(Content.styled(f"{_MARKED if is_marked else ' '} {choice.text}", style))
            if choice.explained:
                lines.append(Content.styled(f"    {choice.explained}", DIM))
        return lines

    def _draw(self) -> None:
        content = Content("\n").join(self._lines())
        if not (isinstance(self.content, Content) and self.content.is_same(content)):
            self.update(content)
