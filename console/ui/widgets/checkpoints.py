"""The checkpoints pane: every checkpoint with its audit, and what thinning would do to it."""

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.theme import DIM
from console.ui.widgets.checkpoint_lines import columns_for, heading, row_content, skipped_content
from console.ui.widgets.checkpoint_list import CheckpointList, Row
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import Columns
from console.view.run_view import Audit, CheckpointRow, RunView
from trainer.rundir.checkpoints.checkpoint import Skipped

_CURSOR = Style(reverse=True, dim=False)
_CHOSEN = Style(underline=True)
"""In a pane without the focus."""


class CheckpointsPane(LineView):
    """A list with a cursor; its first line is the heading.

    The cursor is on the newest checkpoint at or before the chosen step; on none where that is
    older than all of them. What is done is done to the marked ones, if there are any.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHECKPOINTS)
    HEADINGS = 1

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
        self._list = CheckpointList()
        self._is_dated = False
        self._step: int | None = None
        """The chosen one; `None` follows the newest."""

    def show(self, view: RunView, *, is_dated: bool = False) -> None:
        """Show this view's checkpoints as of now; the cursor stays with its row."""
        self._is_dated = is_dated
        self._change(partial(self._list.show, view))

    def select(self, step: int | None) -> None:
        """Put the cursor on the newest checkpoint at or before this step."""
        if step != self._step or step is None:
            self._step = step
            self.cursor = self._list.place_of(None, step)
            self.refresh_line(self.cursor + 1)

    @property
    def row_here(self) -> Row | None:
        """What the cursor is on."""
        rows = self._list.rows
        return rows[self.cursor] if 0 <= self.cursor < len(rows) else None

    def _change(self, change: Callable[[], object]) -> None:
        """Change the list; the cursor stays with its row."""
        here = self.row_here
        change()
        self.cursor = self._list.place_of(here, self._step)
        self._show_titles()
        self._draw()

    def _show_titles(self) -> None:
        self.show_titles(self._list.title, self._list.subtitle(self.row_here))

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_line(old + 1)
        self.refresh_line(new + 1)
        self._keep_in_sight()
        self._show_titles()

    def on_resize(self) -> None:
        """Also where it is shown again: what was chosen while it was not was never scrolled to."""
        self._draw()
        self.call_after_refresh(self._keep_in_sight)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """The row under the pointer is chosen."""
        offset = event.get_content_offset(self)
        if offset is not None and 0 < (line := self.line_at(offset.y)) <= len(self._list.rows):
            self._go_to(line - 1)

    def on_key(self, event: events.Key) -> None:
        """Letters are part of what is typed behind `/`."""
        if self._list.search.takes(event):
            self._change(self._list.sort_and_filter)

    def decorate_line(self, index: int, strip: Strip) -> Strip:
        """The cursor's line stands out."""
        if index != self.cursor + 1 or self.row_here is None:
            return strip
        if self.has_focus:
            return strip.apply_style(_CURSOR)
        return strip if self._step is None else strip.apply_style(_CHOSEN)

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows; from none, to the last."""
        self._go_to((self.cursor if self.cursor >= 0 else len(self._list.rows)) + by)

    def action_move_to(self, index: int) -> None:
        """Move the cursor to a row counted from the first; -1: the last."""
        self._go_to(len(self._list.rows) if index < 0 else index)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(by * max(self.rows_in_sight - 2, 1))

    def action_sort(self) -> None:
        """Sort by the next of step, score, val_loss and size, and go to the first."""
        self._change(self._list.next_order)
        self._go_to(0)

    def action_filter(self) -> None:
        """Show only the next kind of those that there are, or all again."""
        self._change(self._list.next_kind)

    def action_search(self) -> None:
        """Type which ones to show."""
        self._change(self._list.begin_search)

    def action_clear(self) -> None:
        """Show all again; without anything to show, take the marks away."""
        self._change(self._list.clear)

    def action_mark(self) -> None:
        """Mark the checkpoint under the cursor, or not any more."""
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self._change(partial(self._list.mark, row.step))

    def action_compare(self) -> None:
        """Ask for two audits: of the two that are marked, or of the row under the cursor and the
        one that is marked, or the one before it.
        """
        if len(self._list.marked) > 2:
            self.notify("mark two to compare them; Esc takes the marks away", markup=False)
            return
        chosen = self._list.compared(self.row_here)
        audits = [row.audit for row in chosen if row.audit is not None]
        if len(audits) < len(chosen):
            self.notify("this checkpoint has no sample audit", markup=False)
        elif audits:
            self.post_message(self.Chosen(audits[-1], audits[0] if len(audits) > 1 else None))

    def action_fork(self) -> None:
        """Ask for branches from the checkpoint under the cursor."""
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self.post_message(self.ForkWanted(row.step))

    def action_thin(self) -> None:
        """Ask what thinning would delete, of the marked ones if there are any."""
        self.post_message(self.ThinAsked(tuple(sorted(self._list.marked))))

    def action_tree(self) -> None:
        """Ask for the run's lineage, pivots and forks."""
        self.post_message(self.TreeAsked())

    def action_pin(self) -> None:
        """Ask to pin; to unpin where all of them are pinned."""
        if rows := self._list.acted_on(self.row_here):
            is_pinned = any(row.note is None for row in rows)
            steps = tuple(row.step for row in rows)
            self.post_message(self.PinWanted(steps, is_pinned=is_pinned))

    def action_note(self) -> None:
        """Ask for a line to be typed, which pins them too."""
        if rows := self._list.acted_on(self.row_here):
            steps = tuple(row.step for row in rows)
            note = next((row.note for row in rows if row.note), "")
            self.post_message(self.NoteWanted(steps, note))

    def _go_to(self, index: int) -> None:
        """Choose the row's step for all panes; at the newest they follow."""
        self.cursor = min(max(index, 0), len(self._list.rows) - 1)
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self._step = None if row.step == self._list.newest_step else row.step
            self.post_message(StepChosen(self._step))

    def _keep_in_sight(self) -> None:
        line, height = self.cursor + 1, self.rows_in_sight
        top = self.scroll_offset.y
        if self.cursor == 0:
            self.scroll_to(y=0, animate=False)
        elif self.cursor < 0:
            self.scroll_to(y=len(self._list.rows), animate=False)
        elif line < top + self.HEADINGS:
            self.scroll_to(y=line - self.HEADINGS, animate=False)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False)

    def _draw(self) -> None:
        if not self._list.rows:
            is_any = self._list.newest_step >= 0
            words = "none of them is like that; Esc shows all" if is_any else "no checkpoint yet"
            self.show_lines(1, lambda _: Content.styled(words, DIM))
            return
        columns, now = columns_for(self.line_width, is_dated=self._is_dated), self._clock()
        self.show_lines(len(self._list.rows) + 1, lambda index: self._line_at(index, columns, now))

    def _line_at(self, index: int, columns: Columns, now: float) -> Content:
        if index == 0:
            return heading(columns)
        row = self._list.rows[index - 1]
        if isinstance(row, Skipped):
            return skipped_content(row)
        return row_content(row, columns, now, is_marked=row.step in self._list.marked)
