"""The arms as the bandit has them, and as sources of text: a table of which either side leads."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len
from textual.content import Content

from console import formatting
from console.health.verdict import Reason
from console.ui.theme import ACCENT, DIM, RED
from console.ui.widgets.text import (
    Columns,
    bar,
    columns_within,
    foreign,
    left,
    levels,
    names_within,
    right,
)
from console.view.run_view import ArmRow
from console.view.sources import SHARE_PARTS, SourceRow, often_seen_words
from trainer.rundir.state import ArmState, Zombie

_LEAST_NAME, _DATA_NAME, _USUAL_NAME = 10, 14, 26
"""Cells of the names: at least, of sources at least, and at most unless there are longer ones."""
_GAP = 2

_BANDIT: Columns = (
    ("pulls", 8),
    ("prob", 8),
    ("weight", 7),
    ("held at", 8),
    ("reward", 7),
    ("floor", 6),
    ("cap", 6),
)
_DATA: Columns = (
    ("share", 7),
    ("wanted", 7),
    ("seen", 7),
    ("unseen", 7),
    ("loss", 7),
    ("val", 7),
    ("rows", 6),
    ("given", 7),
    ("tokens", 7),
)
_LEGEND = (
    "share: of this phase's steps; wanted: as the pivot's review foresaw it",
    "seen: times each row was given; unseen: rows until one comes again",
    "bars: the share over the run so far",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One arm from one side."""

    values: Mapping[str, str]
    """By column."""
    draw: Callable[[int], Content]
    """What follows the columns that lead, in exactly so many cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The arms from one side."""

    columns: Columns
    lines: Mapping[str, _Line]
    """By arm, in the order in which they are shown."""
    drawings: tuple[int, ...]
    """Cells that a drawing can have, most first."""
    reserved: int
    """Cells of a line that are no column's: for the name, and the drawing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """What there is room for: the other side's columns last, and the names' cells first."""

    name: int
    leading: Columns
    drawing: int
    following: Columns


def table_lines(
    arms: Sequence[ArmRow],
    zombies: Sequence[Zombie],
    sources: Sequence[SourceRow],
    *,
    width: int,
    is_data: bool = False,
    tests: Sequence[tuple[str, float]] = (),
    ills: Sequence[Reason] = (),
) -> list[Content]:
    """A heading, a line an arm, a line a zombie, the `ills` of sources, those seen too often.

    As the bandit has them, the most probable first, or as sources (`is_data`), the most drawn
    first; the other side too, as far as `width` cells allow.
    """
    bandit, data = _bandit_side(arms), _data_side(sources)
    own, other = (data, bandit) if is_data else (bandit, data)
    if not own.lines and (is_data or not zombies):
        return [Content.styled(_nothing(sources, is_data=is_data), DIM)]
    gone = {arm.name for arm in arms if not arm.state.available}
    names = [foreign(name) for name in (*own.lines, *(zombie.arm for zombie in zombies))]
    layout = _layout(own, other, max(_USUAL_NAME, *map(cell_len, names)), width)
    shown = [left(name, layout.name) for name in names_within(names, layout.name)]
    of_arms, of_zombies = shown[: len(own.lines)], shown[len(own.lines) :]
    lines = [Content.styled(_heading(layout), DIM)]
    for name, at in zip(own.lines, of_arms, strict=True):
        lines.append(_line(at, layout, own.lines[name], other.lines.get(name), name in gone))
    lines += [_zombie_line(zombie, at) for zombie, at in zip(zombies, of_zombies, strict=True)]
    lines += [Content.styled(left(foreign(ill.words()), width).rstrip(), RED) for ill in ills]
    lines += _note_lines(sources, width)
    lines += _prepared_lines(sources, tests, width) if is_data else []
    return [*lines, *(Content.styled(words, DIM) for words in _LEGEND)] if is_data else lines


def _nothing(sources: Sequence[SourceRow], *, is_data: bool) -> str:
    if is_data:
        return "no record yet tells its source"
    return "no arm known yet; b shows the sources" if sources else "no arm known yet"


def _layout(own: _Side, other: _Side, widest: int, width: int) -> _Layout:
    leading = columns_within(own.columns, width - own.reserved)
    room = width - _taken(leading)
    name = min(max(room - own.drawings[-1] - _GAP, _LEAST_NAME), widest)
    room -= name
    drawing = next((cells for cells in own.drawings if cells + _GAP <= room), 0)
    room -= drawing + _GAP
    has_room = bool(other.lines) and room >= other.columns[0][1]
    following = columns_within(other.columns, room) if has_room else ()
    return _Layout(name=name, leading=leading, drawing=drawing, following=following)


def _taken(columns: Columns) -> int:
    return sum(cells for _, cells in columns)


def _heading(layout: _Layout) -> str:
    leading, following = (
        "".join(right(name, cells) for name, cells in columns)
        for columns in (layout.leading, layout.following)
    )
    heading = left("arm", layout.name) + leading + " " * (layout.drawing + _GAP) + following
    return heading.rstrip()


def _line(name: str, layout: _Layout, own: _Line, other: _Line | None, is_gone: bool) -> Content:
    leading = _in_columns(own, layout.leading)
    following = _in_columns(other, layout.following) if other else ""
    if is_gone:
        gone = left("gone", layout.drawing) if layout.drawing else "gone"
        return Content.styled(f"{name}{leading}{' ' * _GAP}{gone}{following}".rstrip(), RED)
    drawing = own.draw(layout.drawing) if layout.drawing else Content()
    return Content.assemble(name, leading, " " * _GAP, drawing, following)


def _in_columns(line: _Line, columns: Columns) -> str:
    return "".join(right(line.values[column], cells) for column, cells in columns)


def _bandit_side(arms: Sequence[ArmRow]) -> _Side:
    ordered = sorted(arms, key=lambda arm: (-(arm.state.probability or 0.0), arm.name))
    lines = {arm.name: _bandit_line(arm.state) for arm in ordered}
    return _Side(columns=_BANDIT, lines=lines, drawings=(8,), reserved=_LEAST_NAME)


def _bandit_line(state: ArmState) -> _Line:
    values = {
        "pulls": formatting.steps(state.pulls),
        "prob": formatting.percent(state.probability, 1),
        "weight": formatting.number(state.weight, 3),
        "held at": state.held_at,
        "reward": formatting.number(state.ema_reward, 3),
        "floor": formatting.number(state.floor, 2),
        "cap": formatting.number(state.cap, 2),
    }
    return _Line(values=values, draw=partial(_bar, state.probability or 0.0))


def _bar(share: float, cells: int) -> Content:
    full, rest = bar(share, cells)
    return Content.assemble((full, ACCENT), (rest, DIM))


def _data_side(sources: Sequence[SourceRow]) -> _Side:
    lines = {row.name: _data_line(row) for row in sources}
    drawings = (SHARE_PARTS, SHARE_PARTS // 2)
    reserved = _DATA_NAME + _GAP + drawings[-1]
    return _Side(columns=_DATA, lines=lines, drawings=drawings, reserved=reserved)


def _data_line(row: SourceRow) -> _Line:
    values = {
        "share": formatting.percent(row.share, 1),
        "wanted": formatting.percent(row.wanted),
        "seen": formatting.times(row.passes),
        "unseen": formatting.short_steps(row.rows_left),
        "loss": formatting.number(row.loss, 3),
        "val": formatting.number(row.val_loss, 3),
        "rows": formatting.short_steps(row.rows),
        "given": formatting.short_steps(row.given_tokens),
        "tokens": formatting.short_steps(row.tokens),
    }
    return _Line(values=values, draw=partial(_sparkline, row.shares))


def _sparkline(shares: Sequence[float], cells: int) -> Content:
    """The share in each part of the run so far, up to the greatest that this source had."""
    each = max(len(shares) // cells, 1)
    parts = [shares[at : at + each] for at in range(0, len(shares), each)]
    means = [sum(part) / len(part) for part in parts]
    most = max((mean for mean in means if not math.isnan(mean)), default=0.0) or 1.0
    drawn = "".join(" " if math.isnan(mean) else levels([mean], 0.0, most) for mean in means)
    return Content.styled(left(drawn, cells), ACCENT)


def _note_lines(sources: Sequence[SourceRow], width: int) -> list[Content]:
    """Sources that are seen too often for it to teach much."""
    words = foreign(often_seen_words({row.name: row.passes for row in sources}))
    return Content.styled(words, "bold").wrap(max(width, 1)) if words else []


def _prepared_lines(
    sources: Sequence[SourceRow], tests: Sequence[tuple[str, float]], width: int
) -> list[Content]:
    """What preparation left out or found twice of each source, and the loss on the test sets."""
    told = [f"{foreign(row.name)}: {row.left_out}" for row in sources if row.left_out]
    losses = [f"{foreign(name)} {formatting.loss(loss)}" for name, loss in tests]
    told += [f"loss on test sets: {', '.join(losses)}"] if losses else []
    return [line for words in told for line in Content(words).wrap(max(width, 1))]


def _zombie_line(zombie: Zombie, name: str) -> Content:
    facts = [f"{formatting.steps(zombie.pulls)} pulls"]
    if zombie.weight is not None:
        facts.append(f"weight {formatting.number(zombie.weight, 3)}")
    facts.append(foreign(zombie.reason))
    return Content.styled(f"{name} zombie: {', '.join(fact for fact in facts if fact)}", RED)
