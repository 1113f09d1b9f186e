"""The checkpoints pane: every checkpoint with the audit of its own, the newest first."""

import re
import time
from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.theme import ACCENT, DIM, RED
from console.ui.widgets.audit_lines import score_style
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import Columns, columns_within, foreign, left, right
from console.view.run_view import Audit, CheckpointRow, RunView
from trainer.rundir.checkpoints.checkpoint import Skipped

_AGE_CELLS, _DATE_CELLS = 10, 14
_COLUMNS: Columns = (
    ("step", 9),
    ("score", 7),
    ("val_loss", 9),
    ("age", _AGE_CELLS),
    ("size", 9),
    ("  cause", 10),
)

_TITLE = "4 checkpoints"
_CURSOR = Style(reverse=True, dim=False)

Row = CheckpointRow | Skipped


class CheckpointsPane(LineView):
    """A list with a cursor; its first line is the heading.

    The cursor is on the newest checkpoint at or before the chosen step; on none where that is
    older than all of them.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.CHECKPOINTS)

    class Chosen(Message):
        """The operator asked for this checkpoint's audit."""

        def __init__(self, audit: Audit) -> None:
            super().__init__()
            self.audit = audit

    class ForkWanted(Message):
        """The operator wants branches from the checkpoint of this step."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class ThinAsked(Message):
        """The operator asked what thinning would delete."""

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
        self._rows: list[Row] = []
        self._is_dated = False
        self._newest_step = -1
        self._step: int | None = None
        """The chosen one; `None` follows the newest."""

    def show(self, view: RunView, *, is_dated: bool = False) -> None:
        """Show this view's checkpoints as of now; the cursor stays with its row."""
        self._is_dated = is_dated
        here = self.row_here
        self._rows = merged_rows(view)
        self._newest_step = view.newest.step if view.newest else -1
        self.cursor = self._place_of(here)
        self.show_titles(_title(view), f"{len(view.skipped)} skipped" if view.skipped else "")
        self._draw()

    def select(self, step: int | None) -> None:
        """Put the cursor on the newest checkpoint at or before this step."""
        if step != self._step or step is None:
            self._step = step
            self.cursor = self._place_of(None)

    @property
    def row_here(self) -> Row | None:
        """What the cursor is on."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

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

    def on_resize(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def decorate_line(self, index: int, strip: Strip) -> Strip:
        """The cursor's line stands out while the pane has the focus."""
        is_here = index == self.cursor + 1 and self.has_focus and bool(self._rows)
        return strip.apply_style(_CURSOR) if is_here else strip

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows; from none, to the last."""
        self._go_to((self.cursor if self.cursor >= 0 else len(self._rows)) + by)

    def action_move_to(self, index: int) -> None:
        """Move the cursor to a row counted from the newest; -1: the oldest."""
        self._go_to(len(self._rows) if index < 0 else index)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(by * max(self.rows_in_sight - 2, 1))

    def action_compare(self) -> None:
        """Ask for the audit of the row under the cursor."""
        row = self.row_here
        if isinstance(row, CheckpointRow) and row.audit is not None:
            self.post_message(self.Chosen(row.audit))
        elif row is not None:
            self.notify("this checkpoint has no sample audit", markup=False)

    def action_fork(self) -> None:
        """Ask for branches from the checkpoint under the cursor."""
        row = self.row_here
        if isinstance(row, CheckpointRow):
            self.post_message(self.ForkWanted(row.step))

    def action_thin(self) -> None:
        """Ask what thinning would delete."""
        self.post_message(self.ThinAsked())

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
            self.show_lines(1, lambda _: Content.styled("no checkpoint yet", DIM))
            return
        width, now = self.line_width, self._clock()
        wanted = _dated(_COLUMNS) if self._is_dated else _COLUMNS
        columns = _filled(columns_within(wanted, width), width)
        self.show_lines(len(self._rows) + 1, lambda index: self._line_at(index, columns, now))

    def _line_at(self, index: int, columns: Columns, now: float) -> Content:
        if index == 0:
            heading = "".join(
                left(name, cells) if name.startswith(" ") else right(name, cells)
                for name, cells in columns
            )
            return Content.styled(heading, DIM)
        row = self._rows[index - 1]
        if isinstance(row, Skipped):
            return Content.styled(f"  {foreign(row.path.name)} skipped: {foreign(row.reason)}", RED)
        return _row_content(row, columns, now)


def _filled(columns: Columns, width: int) -> Columns:
    """The cause takes the room that there is: a trainer of somebody else's may say more."""
    name, cells = columns[-1]
    if not name.startswith(" "):
        return columns
    taken = sum(cells for _, cells in columns[:-1])
    return (*columns[:-1], (name, max(cells, width - taken)))


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


def _dated(columns: Columns) -> Columns:
    return tuple(("written", _DATE_CELLS) if name == "age" else (name, n) for name, n in columns)


def _row_content(row: CheckpointRow, columns: Columns, now: float) -> Content:
    audit = row.audit
    score = audit.score if audit else None
    values: dict[str, tuple[str, str]] = {
        "step": (formatting.steps(row.step), "bold"),
        "score": (formatting.score(score), score_style(score) if score is not None else DIM),
        "val_loss": (formatting.loss(audit.val_loss if audit else None), "" if audit else DIM),
        "age": (formatting.age(now - row.modified), DIM),
        "written": (formatting.date(row.modified, now), DIM),
        "size": (formatting.size(row.n_bytes), DIM),
        "  cause": (foreign(row.cause), DIM if row.cause == "cadence" else ACCENT),
    }
    parts: list[str | tuple[str, str]] = []
    for name, cells in columns:
        text, style = values[name]
        shown = left(text, cells - 2) if name.startswith(" ") else text
        parts.append(" " * max(cells - cell_len(shown), 0) if name[0] != " " else "  ")
        parts.append((shown, style))
    return Content.assemble(*parts)
