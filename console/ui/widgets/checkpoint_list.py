"""Which checkpoints are listed, in which order, and which are marked; draws nothing."""

import re

from rich.cells import cell_len

from console import formatting
from console.ui.widgets.text import foreign
from console.ui.widgets.typed_search import TypedSearch
from console.view.checkpoint_order import ALL, Order, is_of, is_typed, kinds_of, ordered
from console.view.run_view import CheckpointRow, RunView
from trainer.rundir.checkpoints.checkpoint import Skipped

_TITLE = "4 checkpoints"
_SHORT_CELLS = 8
"""What is longer may not have the room to be read in its column."""

Row = CheckpointRow | Skipped


class CheckpointList:
    """The rows of the pane."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.marked: frozenset[int] = frozenset()
        """Steps."""
        self.search = TypedSearch()
        self._view: RunView | None = None
        self._order = Order.STEP
        self._kind = ALL

    @property
    def newest_step(self) -> int:
        """Of all of them, listed or not; -1: there is none."""
        newest = self._view.newest if self._view is not None else None
        return newest.step if newest is not None else -1

    @property
    def title(self) -> str:
        """How many there are, and their size."""
        if self._view is None or not self._view.checkpoints:
            return _TITLE
        size = formatting.size(self._view.checkpoint_bytes)
        return f"{_TITLE}: {len(self._view.checkpoints):,}, {size}"

    def show(self, view: RunView) -> None:
        """List this view's; the mark of one that is gone goes."""
        self._view = view
        if self.marked:
            self.marked &= {row.step for row in view.checkpoints}
        self.sort_and_filter()

    def sort_and_filter(self) -> None:
        """Make the rows anew: those that are asked for, in the order that is asked for."""
        if self._view is None:
            return
        if self._kind not in kinds_of(self._view.checkpoints, self.marked):
            self._kind = ALL
        self.rows = self._wanted(self._view)

    def next_order(self) -> None:
        """Step, score, val_loss, size in turn."""
        orders = list(Order)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self.sort_and_filter()

    def next_kind(self) -> None:
        """The next kind of those that there are, or all again."""
        shown = self._view.checkpoints if self._view is not None else ()
        kinds = kinds_of(shown, self.marked) or [ALL]
        self._kind = kinds[(kinds.index(self._kind) + 1) % len(kinds)]
        self.sort_and_filter()

    def begin_search(self) -> None:
        """Type anew."""
        self.search.begin()
        self.sort_and_filter()

    def clear(self) -> None:
        """List all again; if all are listed, take the marks away."""
        if self.search.text or self._kind:
            self.search.text, self._kind = "", ALL
        else:
            self.marked = frozenset()
        self.sort_and_filter()

    def mark(self, step: int) -> None:
        """Mark a checkpoint, or not any more."""
        self.marked ^= {step}
        self.sort_and_filter()

    def place_of(self, row: Row | None, step: int | None) -> int:
        """Where a row is now; without one, or to follow the newest (`step` is None), where the
        newest at or before the step is: -1 if there is none.
        """
        if row is not None and (step is not None or isinstance(row, Skipped)):
            name = _file_name(row)
            for index, other in enumerate(self.rows):
                if _file_name(other) == name:
                    return index
        places = {
            other.step: index
            for index, other in enumerate(self.rows)
            if isinstance(other, CheckpointRow) and (step is None or other.step <= step)
        }
        return places[max(places)] if places else -1

    def acted_on(self, here: Row | None) -> list[CheckpointRow]:
        """The marked ones, else the one under the cursor."""
        if self.marked:
            return self._at(self.marked)
        return [here] if isinstance(here, CheckpointRow) else []

    def compared(self, here: Row | None) -> list[CheckpointRow]:
        """The two marked ones, or the one under the cursor and what is marked; by step."""
        wanted = set(self.marked)
        if isinstance(here, CheckpointRow) and len(wanted) < 2:
            wanted.add(here.step)
        return self._at(wanted)

    def subtitle(self, here: Row | None) -> str:
        """What is listed, and what of the row under the cursor its column has no room for."""
        text = foreign(self.search.text)
        if self.search.is_typing:
            return f"/{text}▏"
        n_skipped = len(self._view.skipped) if self._view is not None else 0
        pieces = [
            _told_of(here),
            _evaluated(here),
            f"{len(self.marked)} marked" if self.marked else "",
            f"by {self._order}" if self._order is not Order.STEP else "",
            f"/{text}" if text else "",
            foreign(self._kind),
            f"{len(self.rows):,} of them" if text or self._kind else "",
            f"{n_skipped} skipped" if n_skipped else "",
        ]
        return " · ".join(piece for piece in pieces if piece)

    def _wanted(self, view: RunView) -> list[Row]:
        text = self.search.text
        if self._kind == ALL and not text:
            if self._order is Order.STEP:
                return merged_rows(view)
            return [*ordered(view.checkpoints, self._order), *view.skipped]
        found = [
            row
            for row in view.checkpoints
            if is_of(row, self._kind, self.marked) and (not text or is_typed(row, text))
        ]
        return [*ordered(found, self._order)]

    def _at(self, steps: set[int] | frozenset[int]) -> list[CheckpointRow]:
        shown = self._view.checkpoints if self._view is not None else ()
        return [row for row in shown if row.step in steps]


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


def _told_of(row: Row | None) -> str:
    told = foreign(row.note or row.stays) if isinstance(row, CheckpointRow) else ""
    return told if cell_len(told) > _SHORT_CELLS else ""


def _evaluated(row: Row | None) -> str:
    """`whole held-out text 2.9312 ±0.0040`."""
    made = row.evaluation if isinstance(row, CheckpointRow) else None
    whole = made.whole if made is not None else None
    if whole is None:
        return ""
    error = "" if whole.standard_error is None else f" ±{whole.standard_error:.4f}"
    return f"whole held-out text {formatting.loss(whole.val_loss)}{error}"
