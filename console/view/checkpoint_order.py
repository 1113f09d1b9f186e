"""In which order checkpoints are listed, and which of them; pure."""

import math
import re
from collections.abc import Collection, Sequence
from enum import StrEnum

from console.view.run_view import CheckpointRow

_RANGE = re.compile(r"(\d{0,15})\s*(?:-|\.\.)\s*(\d{0,15})")
TAKES = "a step's first digits, 60000-62000, or a word of cause, note or reason"


class Order(StrEnum):
    """What they are sorted by: the newest, the best or the largest first."""

    STEP = "step"
    SCORE = "score"
    VAL_LOSS = "val_loss"
    SIZE = "size"


def ordered(rows: Sequence[CheckpointRow], order: Order) -> list[CheckpointRow]:
    """Those whose value isn't known come last, and of equal ones the newer first."""
    return sorted(rows, key=lambda row: (_value(row, order), -row.step))


def _value(row: CheckpointRow, order: Order) -> float:
    if order is Order.SIZE:
        return -row.n_bytes
    if order is Order.STEP or row.audit is None:
        return 0.0 if order is Order.STEP else math.inf
    value = row.audit.val_loss if order is Order.VAL_LOSS else row.audit.score
    if value is None or math.isnan(value):
        return math.inf
    return value if order is Order.VAL_LOSS else -value


ALL, MARKED, PINNED, GOES, STAYS = "", "marked", "pinned", "goes", "stays"
_CAUSE = "cause "


def kinds_of(rows: Sequence[CheckpointRow], marked: Collection[int]) -> list[str]:
    """The kinds that there are, all of them first: by what thinning would do, then by cause."""
    fixed = (ALL, MARKED, PINNED, GOES, STAYS)
    there = [kind for kind in fixed if any(is_of(row, kind, marked) for row in rows)]
    return [*there, *sorted({_CAUSE + row.cause for row in rows if row.cause})]


def is_of(row: CheckpointRow, kind: str, marked: Collection[int]) -> bool:
    """Whether a checkpoint is of this kind."""
    if kind.startswith(_CAUSE):
        return row.cause == kind.removeprefix(_CAUSE)
    return {
        ALL: True,
        MARKED: row.step in marked,
        PINNED: row.note is not None,
        GOES: row.goes,
        STAYS: bool(row.stays),
    }.get(kind, False)


def is_typed(row: CheckpointRow, text: str) -> bool:
    """Whether a checkpoint is meant by what was typed (`TAKES`)."""
    typed = text.strip().replace(",", "").lower()
    if typed.isdecimal():
        return str(row.step).startswith(typed)
    if (limits := _RANGE.fullmatch(typed)) and any(limits.groups()):
        first, last = limits.groups()
        return int(first or 0) <= row.step and (not last or row.step <= int(last))
    words = (row.cause, row.note or "", row.stays, PINNED if row.note is not None else "")
    return any(typed in each.lower() for each in words)
