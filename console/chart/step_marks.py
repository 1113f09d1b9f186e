"""Where the chart's vertical marks go and which of their labels have room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from rich.cells import cell_len

from console.chart.cell_rows import Ink, Placed, clipped, printable
from console.chart.glyphs import Glyphs

_LEAST_LABEL_CELLS = 4  # a shorter rest of a label says nothing


class MarkKind(IntEnum):
    """Why a step is marked; what matters more comes first and wins where room is short."""

    ALARM = 0
    PHASE = 1
    NONFINITE = 2
    SETTINGS = 3
    STALL = 4
    HELD_OUT = 5
    RESTART = 6

    @property
    def ink(self) -> Ink:
        """The ink of the mark's line and label."""
        if self is MarkKind.ALARM:
            return Ink.ALARM
        return Ink.PHASE if self in (MarkKind.PHASE, MarkKind.SETTINGS) else Ink.RESTART

    def line(self, glyphs: Glyphs) -> str:
        """The character that the mark's line is made of."""
        if self is MarkKind.ALARM:
            return glyphs.alarm
        is_other_run = self in (MarkKind.PHASE, MarkKind.SETTINGS)
        return glyphs.phase if is_other_run else glyphs.restart


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A vertical line at a step. `label` may hold anything a person typed."""

    step: int
    label: str
    kind: MarkKind


def place_labels(marks: Sequence[tuple[int, Mark]], glyphs: Glyphs, width: int) -> list[Placed]:
    """The row of labels: each mark's line with its label at one side, where there is room.

    `marks` are columns and marks. Kinds are served in their order, newer before older; a label
    too long for its room is cut, one without room is left out, its line stays. Only the line of
    a restart is ever covered, and only by a label that has no room elsewhere.
    """
    is_free = [True] * width
    for column, mark in marks:
        if mark.kind is not MarkKind.RESTART:
            is_free[column] = False
    lines = {column for column, _ in marks}
    placed: dict[int, Placed] = {}
    for column, mark in sorted(marks, key=lambda item: (item[1].kind, -item[1].step)):
        if column in placed or (mark.kind is MarkKind.RESTART and not is_free[column]):
            continue
        is_free[column] = False
        line = mark.kind.line(glyphs)
        label = printable(mark.label, glyphs)
        is_bare = [is_free[cell] and cell not in lines for cell in range(width)]
        text, start = _beside(column, label, is_bare, glyphs)
        if text != label:
            text, start = _beside(column, label, is_free, glyphs)
        row = line + text if start > column else text + line
        placed[column] = Placed(min(start, column), row, mark.kind.ink)
        for cell in range(start, start + cell_len(text)):
            is_free[cell] = False
    return sorted(placed.values())


def _beside(column: int, label: str, is_free: list[bool], glyphs: Glyphs) -> tuple[str, int]:
    """The label cut to the better side of its line, and the cell where it starts there."""
    right = _room(is_free[column + 1 :])
    left = _room(is_free[:column][::-1])
    is_right = right >= min(cell_len(label), max(left, right))
    room = right if is_right else left
    text = clipped(label, room, glyphs) if room >= min(_LEAST_LABEL_CELLS, cell_len(label)) else ""
    return text, column + 1 if is_right else column - cell_len(text)


def _room(cells: Sequence[bool]) -> int:
    """How many cells from the start on a label may fill: a space parts it from the next line."""
    taken = next((index for index, is_free in enumerate(cells) if not is_free), None)
    return len(cells) if taken is None else max(taken - 1, 0)
