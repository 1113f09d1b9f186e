"""The run and its branches, a row each, with a cursor: compared, stopped and opened from there."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.fork.branch_rows import BranchRow
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.pivot.step import wrapped
from console.ui.theme import AMBER, DIM, GOOD, RED
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign, left, names_within
from console.view.run_view import Severity

_MARKS = {
    Severity.OK: ("◆", "bold"),
    Severity.BUSY: ("◆", "bold"),
    Severity.ENDED: ("■", ""),
    Severity.ATTENTION: ("!", AMBER),
    Severity.BAD: ("✖", RED),
}
_FINISHED = ("✓", GOOD)
_LEAST_NAME, _BASE_CELLS, _WORDS_CELLS = 12, 20, 36
_LEAD_CELLS = 4


class BranchTable(LineView):
    """Comparisons are with the run itself, or with the row that was taken for it by m."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.BRANCHES)

    class CompareWanted(Message):
        """Two of the rows are to be compared."""

        def __init__(self, first: Path, second: Path) -> None:
            super().__init__()
            self.first = first
            self.second = second

    class StopWanted(Message):
        """The trainer of a branch is to save and end."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class OpenWanted(Message):
        """A branch is to be shown in its own console."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class Refused(Message):
        """What a key asked for can't be done with this row."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._rows: tuple[BranchRow, ...] = ()
        self._cursor = 0
        self._against = 0
        """The row that the others are compared with."""

    def show(self, rows: tuple[BranchRow, ...]) -> None:
        """Show these; cursor and mark stay with their rows."""
        self._cursor = _same(self._rows, self._cursor, rows)
        self._against = _same(self._rows, self._against, rows)
        self._rows = rows
        self._draw()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def action_move(self, by: int) -> None:
        """Go to another row."""
        self._cursor = min(max(self._cursor + by, 0), max(len(self._rows) - 1, 0))
        self._draw()

    def action_against(self) -> None:
        """Compare the others with this row from now on."""
        if self._made() is not None:
            self._against = self._cursor
            self._draw()

    def action_compare(self) -> None:
        """Compare this row with the one that is marked for it."""
        path = self._made()
        first = self._rows[self._against].path if self._rows else None
        if path is None or first is None:
            return
        if self._cursor == self._against:
            self.post_message(self.Refused("this row is what the others are compared with"))
        else:
            self.post_message(self.CompareWanted(first, path))

    def action_stop(self) -> None:
        """Stop the branch of this row."""
        path = self._made()
        if path is not None and self._cursor == 0:
            self.post_message(self.Refused("q on the dashboard stops this run; s stops a branch"))
        elif path is not None:
            self.post_message(self.StopWanted(path))

    def action_open(self) -> None:
        """Show the branch of this row."""
        path = self._made()
        if path is not None and self._cursor == 0:
            self.post_message(self.Refused("this run is the one that this console shows: Esc"))
        elif path is not None:
            self.post_message(self.OpenWanted(path))

    def _made(self) -> Path | None:
        """The directory of this row; says so where there is none."""
        path = self._rows[self._cursor].path if self._rows else None
        if path is None:
            self.post_message(self.Refused("this branch is not made yet"))
        return path

    def _draw(self) -> None:
        cursor = self._cursor if self.has_focus else None
        lines = branch_lines(self._rows, self.line_width, cursor=cursor, against=self._against)
        self.show_lines(len(lines), lines.__getitem__)
        at = len(branch_lines(self._rows[: self._cursor], self.line_width))
        top, height = self.scroll_offset.y, self.rows_in_sight
        if at < top:
            self.scroll_to(y=at, animate=False)
        elif at >= top + height > top:
            self.scroll_to(y=at - height + 1, animate=False)


def _same(before: Sequence[BranchRow], index: int, now: Sequence[BranchRow]) -> int:
    """Where the row of this index is now; the first where it is gone."""
    if index >= len(before):
        return 0
    key = (before[index].name, before[index].base)
    return next((at for at, row in enumerate(now) if (row.name, row.base) == key), 0)


def branch_lines(
    rows: Sequence[BranchRow], width: int, *, cursor: int | None = None, against: int = 0
) -> list[Content]:
    """A row each, and under it what is in its way."""
    names = [foreign(row.name) for row in rows]
    room = max(width - _LEAD_CELLS - _BASE_CELLS - _WORDS_CELLS, _LEAST_NAME)
    cells = min(room, max(map(cell_len, names), default=0))
    lines: list[Content] = []
    for index, (row, name) in enumerate(zip(rows, names_within(names, cells), strict=True)):
        mark, style = _FINISHED if row.status.word == "finished" else _MARKS[row.status.severity]
        content = Content.assemble(
            "▸ " if index == cursor else "  ",
            (f"{mark} ", style),
            (left(name, cells), "bold"),
            (left(f"  {_origin(row)}", _BASE_CELLS), DIM),
            _words(row),
            ("   compared with" if index == against and len(rows) > 1 else "", DIM),
        )
        lines.append(content)
        if row.problem:
            words = Content.styled(foreign(row.problem), RED)
            lines += wrapped(words, width, first="      ", rest="      ")
    return lines


def _origin(row: BranchRow) -> str:
    if row.base is not None:
        return f"from {formatting.steps(row.base)}"
    return "" if row.path is None else "this run"


def _words(row: BranchRow) -> str:
    step = "" if row.step is None else f", step {formatting.steps(row.step)}"
    detail = f": {foreign(row.status.detail)}" if row.status.detail else ""
    return f"{foreign(row.status.word)}{step}{detail}"
