"""The table of arms in the wizard as lines; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from console import formatting
from console.pivot.policy_draft import ArmDraft, Draft, Field, Mistake, new_bounds
from console.ui.screens.pivot.step import wrapped
from console.ui.theme import ACCENT, DIM, GOOD, RED
from console.ui.widgets.text import Columns, columns_within, foreign, left, names_within, right
from trainer.rundir.config.policy import ArmPreview
from trainer.rundir.state import ArmState

_LEAST_NAME, _USUAL_NAME = 14, 28
"""Cells of the names with their mark: at least, and at most unless there are longer ones."""
_MARK_CELLS = 2
_COLUMNS: Columns = (
    ("floor", 8),
    ("cap", 8),
    ("today", 9),
    ("at first", 10),
    ("later", 9),
    ("pulls", 8),
    ("reward", 8),
)
_GOES = "removed: its arm ends with this phase (x takes it back)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where the cursor is, and whether it types there."""

    arm: str
    field: Field
    is_typing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the lines are made of."""

    draft: Draft
    states: Mapping[str, ArmState]
    """The bandit today."""
    preview: Mapping[str, ArmPreview] | None
    """None while there are mistakes."""
    mistakes: Sequence[Mistake]
    cell: Cell | None
    """None: the table has no focus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line, and the arm whose row it is; a line that only explains has none."""

    content: Content
    arm: str = ""


def table_lines(table: Table, width: int) -> list[Line]:
    """A heading, what is wrong with all, a row an arm and under it what is to be said of it."""
    columns = columns_within(_COLUMNS, width - _LEAST_NAME)
    names = [foreign(arm.name) for arm in table.draft.arms]
    widest = max(_USUAL_NAME, *(cell_len(name) + _MARK_CELLS for name in names))
    name_cells = min(max(width - sum(cells for _, cells in columns), _LEAST_NAME), widest)
    shown = names_within(names, name_cells - _MARK_CELLS)
    heading = left("  arm", name_cells) + "".join(
        right(_spaced(name, name), cells) for name, cells in columns
    )
    lines = [Line(content=Content.styled(heading, DIM))]
    for mistake in table.mistakes:
        if not mistake.arm:
            lines += [Line(content=content) for content in _wrong(mistake.message, width)]
    for arm, name in zip(table.draft.arms, shown, strict=True):
        row = _row(table, arm, left(name, name_cells - _MARK_CELLS), columns)
        lines.append(Line(content=row, arm=arm.name))
        lines += [Line(content=content) for content in _under(table, arm, width)]
    return lines


def _row(table: Table, arm: ArmDraft, name: str, columns: Columns) -> Content:
    values = _values(table, arm)
    is_here = table.cell is not None and table.cell.arm == arm.name
    name = f"{'▸' if is_here else ' '} {name}"
    if arm.is_removed:
        texts = ((_cell(table, arm, column, values[column]), cells) for column, cells in columns)
        return Content.styled(name + "".join(right(*text) for text in texts), f"{DIM} strike")
    parts: list[tuple[str, str]] = [(name, GOOD if arm.was is None else "")]
    for column, cells in columns:
        shown = _cell(table, arm, column, values[column])
        style = _style(table, arm, column)
        parts += [(" " * max(cells - len(shown), 0), ""), (shown, style)]
    return Content.assemble(*parts)


def _cell(table: Table, arm: ArmDraft, column: str, text: str) -> str:
    """The cursor is seen without any colour, before anything is typed."""
    return f"[{text}]" if _is_here(table, arm, column) else _spaced(text, column)


def _spaced(text: str, column: str) -> str:
    """What can be edited has a cell at each side: the brackets of the cursor take them."""
    return f" {text} " if column in (Field.FLOOR, Field.CAP) else text


def _values(table: Table, arm: ArmDraft) -> dict[str, str]:
    state = table.states.get(arm.name)
    preview = (table.preview or {}).get(arm.name)
    cell = table.cell
    typing = cell.field if cell and cell.arm == arm.name and cell.is_typing else None
    return {
        "floor": f"{arm.floor}▏" if typing is Field.FLOOR else arm.floor,
        "cap": f"{arm.cap}▏" if typing is Field.CAP else arm.cap,
        "today": formatting.percent(state.probability if state else None, 1),
        "at first": formatting.percent(preview.first if preview else None, 1),
        "later": formatting.percent(preview.learned if preview else None, 1),
        "pulls": formatting.steps(state.pulls if state else None),
        "reward": formatting.number(state.ema_reward if state else None, 3),
    }


def _style(table: Table, arm: ArmDraft, column: str) -> str:
    if column not in (Field.FLOOR, Field.CAP):
        return "bold" if column == "at first" else DIM if column in ("pulls", "reward") else ""
    is_wrong = any((m.arm, m.field) == (arm.name, column) for m in table.mistakes)
    base = RED if is_wrong else f"bold {ACCENT}" if _is_edited(arm, Field(column)) else ""
    return f"{base} reverse".strip() if _is_here(table, arm, column) else base


def _is_here(table: Table, arm: ArmDraft, column: str) -> bool:
    """Whether the cursor is on this cell."""
    return table.cell is not None and (table.cell.arm, table.cell.field) == (arm.name, column)


def _is_edited(arm: ArmDraft, field: Field) -> bool:
    return arm.was is None or getattr(new_bounds(arm), field) is not None


def _under(table: Table, arm: ArmDraft, width: int) -> Iterator[Content]:
    if arm.is_removed:
        yield from wrapped(Content.styled(_GOES, DIM), width, first="  - ", rest="    ")
        return
    for mistake in table.mistakes:
        if mistake.arm == arm.name:
            yield from _wrong(mistake.message, width)
    if arm.was is None:
        words = f"new: {arm.about}; starts at its first row" if arm.about else "new"
        yield from wrapped(Content.styled(foreign(words), GOOD), width, first="  + ", rest="    ")


def _wrong(message: str, width: int) -> list[Content]:
    words = Content.styled(foreign(message), RED)
    return wrapped(words, width, first="  ✖ ", rest="    ", style=RED)
