"""The checkpoints pane: every checkpoint with its audit, and what thinning would do to it."""

import re
import time
from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.theme import DIM
from console.ui.widgets.checkpoint_lines import columns_for, heading, row_content, skipped_content
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import Columns, foreign
from console.ui.widgets.typed_search import TypedSearch
from console.view.checkpoint_order import ALL, Order, is_of, is_typed, kinds_of, ordered
from console.view.run_view import Audit, CheckpointRow, RunView
from trainer.rundir.checkpoints.checkpoint import Skipped

_TITLE = "4 checkpoints"
_CURSOR = Style(reverse=True, dim=False)
_CHOSEN = Style(underline=True)
"""In a pane without the focus."""

_SHORT_CELLS = 8
"""What is longer may not have the room to be read in its column."""

Row = CheckpointRow | Skipped


class CheckpointsPane(LineView):
    """A list with a cursor; its first line is the heading.

    The cursor is on the newest checkpoint at or before the chosen step; on none where that is
    older than all of them. What is done is done to the marked ones, if there are any.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHECKPOINTS)

    class Chosen(Message):
        """The operator asked for a checkpoint's audit beside another, or the one before it."""

        def __init__(self, audit: Audit, against: Audit | None) -> None:
            super().__init__()
            self.audit = audit
            self.against = against

    class ForkWanted(Message):
        """The operator wants branches from the checkpoint of this step."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class ThinAsked(Message):
        """The operator asked what thinning would delete; of `steps`, if there are any."""

        def __init__(self, steps: tuple[int, ...]) -> None:
            super().__init__()
            self.steps = steps

    class PinWanted(Message):
        """The checkpoints of these steps are to be pinned, or not any more."""

        def __init__(self, steps: tuple[int, ...], *, is_pinned: bool) -> None:
            super().__init__()
            self.steps = steps
            self.is_pinned = is_pinned

    class TreeAsked(Message):
        """The operator asked where the run comes from, and what came of it."""

    class NoteWanted(Message):
        """A note is to be typed on the checkpoints of these steps."""

        def __init__(self, steps: tuple[int, ...], note: str) -> None:
            super().__init__()
            self.steps = steps
            self.note = note

    cursor: var[int] = var(0)
    """-1: on no row."""

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._view: RunView | None = None
        self._rows: list[Row] = []
        self._is_dated = False
        self._newest_step = -1
        self._step: int | None = None
        """The chosen one; `None` follows the newest."""
        self._order = Order.STEP
        self._kind = ALL
        self._search = TypedSearch()
        self._marked: frozenset[int] = frozenset()

    def show(self, view: RunView, *, is_dated: bool = False) -> None:
        """Show this view's checkpoints as of now; the cursor stays with its row."""
        self._view, self._is_dated = view, is_dated
        self._newest_step = view.newest.step if view.newest else -1
        self._marked &= {row.step for row in view.checkpoints} if self._marked else set()
        self._list()

    def select(self, step: int | None) -> None:
        """Put the cursor on the newest checkpoint at or before this step."""
        if step != self._step or step is None:
            self._step = step
            self.cursor = self._place_of(None)
            self.refresh_line(self.cursor + 1)

    @property
    def row_here(self) -> Row | None:
        """What the cursor is on."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def _list(self) -> None:
        """Make the rows anew: those that are asked for, in the order that is asked for."""
        view, here = self._view, self.row_here
        if view is None:
            return
        if self._kind not in kinds_of(view.checkpoints, self._marked):
            self._kind = ALL
        self._rows = self._wanted(view)
        self.cursor = self._place_of(here)
        self.show_titles(_title(view), self._subtitle(view))
        self._draw()

    def _wanted(self, view: RunView) -> list[Row]:
        text = self._search.text
        if self._kind == ALL and not text:
            if self._order is Order.STEP:
                return merged_rows(view)
            return [*ordered(view.checkpoints, self._order), *view.skipped]
        found = [
            row
            for row in view.checkpoints
            if is_of(row, self._kind, self._marked) and (not text or is_typed(row, text))
        ]
        return [*ordered(found, self._order)]

    def _subtitle(self, view: RunView) -> str:
        if self._search.is_typing:
            return f"/{foreign(self._search.text)}▏"
        text = f"/{foreign(self._search.text)}" if self._search.text else ""
        pieces = [
            self._told_here(),
            f"{len(self._marked)} marked" if self._marked else "",
            f"by {self._order}" if self._order is not Order.STEP else "",
            text,
            foreign(self._kind),
            f"{len(self._rows):,} of them" if text or self._kind else "",
            f"{len(view.skipped)} skipped" if view.skipped else "",
        ]
        return " · ".join(piece for piece in pieces if piece)

    def _told_here(self) -> str:
        """What the column has no room for, of the row under the cursor."""
        row = self.row_here
        told = foreign(row.note or row.stays) if isinstance(row, CheckpointRow) else ""
        return told if cell_len(told) > _SHORT_CELLS else ""

    def _place_of(self, here: Row | None) -> int:
        """Where this row is now, if the cursor doesn't follow the newest; else by the step."""
        is_skipped = isinstance(here, Skipped)
        if here is not None and (self._step is not None or is_skipped):
            name = _file_name(here)
            for index, row in enumerate(self._rows):
                if _file_name(row) == name:
                    return index
        steps = {
            row.step: index
            for index, row in enumerate(self._rows)
            if isinstance(row, CheckpointRow) and (self._step is None or row.step <= self._step)
        }
        return steps[max(steps)] if steps else -1

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_line(old + 1)
        self.refresh_line(new + 1)
        self._keep_in_sight()
        if self._view is not None:
            self.show_titles(_title(self._view), self._subtitle(self._view))

    def on_resize(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Letters are part of what is typed behind `/`."""
        if self._search.takes(event):
            self._list()

    def decorate_line(self, index: int, strip: Strip) -> Strip:
        """The cursor's line stands out."""
        if index != self.cursor + 1 or self.row_here is None:
            return strip
        if self.has_focus:
            return strip.apply_style(_CURSOR)
        return strip if self._step is None else strip.apply_style(_CHOSEN)

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows; from none, to the last."""
        self._go_to((self.cursor if self.cursor >= 0 else len(self._rows)) + by)

    def action_move_to(self, index: int) -> None:
        """Move the cursor to a row counted from the first; -1: the last."""
        self._go_to(len(self._rows) if index < 0 else index)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(by * max(self.rows_in_sight - 2, 1))

    def action_sort(self) -> None:
        """Sort by the next of step, score, val_loss and size, and go to the first."""
        orders = list(Order)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self._list()
        self._go_to(0)

    def action_filter(self) -> None:
        """Show only the next kind of those that there are, or all again."""
        if self._view is not None:
            kinds = kinds_of(self._view.checkpoints, self._marked) or [ALL]
            self._kind = kinds[(kinds.index(self._kind) + 1) % len(kinds)]
            self._list()

    def action_search(self) -> None:
        """Type which ones to show."""
        self._search.begin()
        self._list()

    def action_clear(self) -> None:
        """Show all again; without anything to show, take the marks away."""
        if self._search.text or self._kind:
            self._search.text, self._kind = "", ALL
        else:
            self._marked = frozenset()
        self._list()

    def action_mark(self) -> None:
        """Mark the checkpoint under the cursor, or not any more."""
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self._marked ^= {row.step}
            self._list()

    def action_compare(self) -> None:
        """Ask for two audits: of the two that are marked, or of the row under the cursor and the
        one that is marked, or the one before it.
        """
        chosen = self._compared()
        audits = [row.audit for row in chosen if row.audit is not None]
        if len(audits) < len(chosen):
            self.notify("this checkpoint has no sample audit", markup=False)
        elif audits:
            self.post_message(self.Chosen(audits[-1], audits[0] if len(audits) > 1 else None))

    def _compared(self) -> list[CheckpointRow]:
        """By ascending step."""
        if len(self._marked) > 2:
            self.notify("mark two to compare them; Esc takes the marks away", markup=False)
            return []
        row, wanted = self.row_here, set(self._marked)
        if isinstance(row, CheckpointRow) and len(wanted) < 2:
            wanted.add(row.step)
        shown = self._view.checkpoints if self._view is not None else ()
        return [row for row in shown if row.step in wanted]

    def action_fork(self) -> None:
        """Ask for branches from the checkpoint under the cursor."""
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self.post_message(self.ForkWanted(row.step))

    def action_thin(self) -> None:
        """Ask what thinning would delete, of the marked ones if there are any."""
        self.post_message(self.ThinAsked(tuple(sorted(self._marked))))

    def action_tree(self) -> None:
        """Ask for the run's lineage, pivots and forks."""
        self.post_message(self.TreeAsked())

    def action_pin(self) -> None:
        """Ask to pin; to unpin where all of them are pinned."""
        if rows := self._acted_on():
            is_pinned = any(row.note is None for row in rows)
            steps = tuple(row.step for row in rows)
            self.post_message(self.PinWanted(steps, is_pinned=is_pinned))

    def action_note(self) -> None:
        """Ask for a line to be typed, which pins them too."""
        if rows := self._acted_on():
            steps = tuple(row.step for row in rows)
            note = next((row.note for row in rows if row.note), "")
            self.post_message(self.NoteWanted(steps, note))

    def _acted_on(self) -> list[CheckpointRow]:
        """The marked ones, else the one under the cursor."""
        row = self.row_here
        if self._marked and self._view is not None:
            return [row for row in self._view.checkpoints if row.step in self._marked]
        return [row] if isinstance(row, CheckpointRow) else []

    def _go_to(self, index: int) -> None:
        """Choose the row's step for all panes; at the newest they follow."""
        self.cursor = min(max(index, 0), len(self._rows) - 1)
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self._step = None if row.step == self._newest_step else row.step
            self.post_message(StepChosen(self._step))

    def _keep_in_sight(self) -> None:
        line, height = self.cursor + 1, self.rows_in_sight
        top = self.scroll_offset.y
        if self.cursor == 0:
            self.scroll_to(y=0, animate=False)
        elif self.cursor < 0:
            self.scroll_to(y=len(self._rows), animate=False)
        elif line < top:
            self.scroll_to(y=line, animate=False)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False)

    def _draw(self) -> None:
        if not self._rows:
            is_any = self._view is not None and self._view.checkpoints
            words = "none of them is like that; Esc shows all" if is_any else "no checkpoint yet"
            self.show_lines(1, lambda _: Content.styled(words, DIM))
            return
        columns, now = columns_for(self.line_width, is_dated=self._is_dated), self._clock()
        self.show_lines(len(self._rows) + 1, lambda index: self._line_at(index, columns, now))

    def _line_at(self, index: int, columns: Columns, now: float) -> Content:
        if index == 0:
            return heading(columns)
        row = self._rows[index - 1]
        if isinstance(row, Skipped):
            return skipped_content(row)
        return row_content(row, columns, now, is_marked=row.step in self._marked)


def merged_rows(view: RunView) -> list[Row]:
    """Checkpoints by descending step, each skipped file where its name's number puts it."""
    rows: list[Row] = list(reversed(view.checkpoints))
    if view.skipped:
        rows += view.skipped
        rows.sort(key=_number, reverse=True)
    return rows


def _number(row: Row) -> int:
    if isinstance(row, CheckpointRow):
        return row.step
    digits = re.search(r"[0-9]+", row.path.name)
    return int(digits.group()) if digits else -1


def _file_name(row: Row) -> str:
    return row.name if isinstance(row, CheckpointRow) else row.path.name


def _title(view: RunView) -> str:
    if not view.checkpoints:
        return _TITLE
    count = len(view.checkpoints)
    return f"{_TITLE}: {count:,}, {formatting.size(view.checkpoint_bytes)}"
