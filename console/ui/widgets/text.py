"""Small pieces that several widgets write with: foreign text, columns, a bar."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from trainer.rundir.names import escape_control

_LEVELS = "▁▂▃▄▅▆▇█"


def foreign(text: str) -> str:
    """Text of others on one line: data that neither steers the terminal nor means markup."""
    return " ".join(escape_control(text, keep_newlines=False).split())


def left(text: str, width: int) -> str:
    """Exactly `width` cells, the text at the left, cut with an ellipsis."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, max(width - 1, 0)) + "…", width)


def right(text: str, width: int) -> str:
    """Exactly `width` cells, the text at the right, cut with an ellipsis."""
    return " " * max(width - cell_len(text), 0) + left(text, min(cell_len(text), width))


def names_within(names: Sequence[str], cells: int) -> list[str]:
    """The names in at most `cells` each, in order: what is too long is cut where all are alike.

    Names that differ are shown as different wherever so few cells can tell them apart. The end is
    cut if that will do, then as late a part as will do, then the common start and the end, then
    every part that is common to all.
    """
    long = [name for name in names if cell_len(name) > cells]
    if not long or cells < 1:
        return [left(name, cells).rstrip() for name in names]
    wanted = len(set(names))
    best: list[str] = []
    for shorten in _ways(long, cells):
        shown = [name if cell_len(name) <= cells else shorten(name) for name in names]
        if len(set(shown)) > len(set(best)):
            best = shown
        if len(set(best)) == wanted:
            break
    return best


def _ways(long: Sequence[str], cells: int) -> Iterator[Callable[[str], str]]:
    """How names could be shortened, the one that reads best first."""
    for head, start in _cuts(_common(long), cells):
        yield partial(_cut, head=head, start=start, cells=cells)
    columns = zip(*long, strict=False)
    alike = [len(set(column)) == 1 for column in columns]
    yield lambda name: left(_without(name, alike), cells).rstrip()


def _without(name: str, alike: Sequence[bool]) -> str:
    """The name without its characters at the places that are alike in all."""
    kept = "".join("…" if at < len(alike) and alike[at] else char for at, char in enumerate(name))
    return re.sub("…+", "…", kept)


def _common(names: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    columns = zip(*names, strict=False)  # to the end of the shortest
    shortest = min(map(len, names))
    return next((at for at, column in enumerate(columns) if len(set(column)) > 1), shortest)


def _cuts(common: int, cells: int) -> Iterator[tuple[int, int | None]]:
    """Cells kept at the start, and where the rest begins; None: as late as fills the cells."""
    yield from ((head, None) for head in range(cells - 1, -1, -1))
    yield from ((head, common) for head in range(min(common, cells - 2), -1, -1))


def _cut(name: str, *, head: int, start: int | None, cells: int) -> str:
    kept = set_cell_size(name, head).rstrip() + "…"
    room = cells - cell_len(kept)
    if start is not None:
        return kept + left(name[start:], room).rstrip()
    rest = name[len(name) - room :] if room > 0 else ""
    while cell_len(rest) > room:
        rest = rest[1:]
    return kept + rest


def levels(values: Sequence[float], low: float, high: float) -> str:
    """One small column a value, between `low` and `high`."""
    top = len(_LEVELS) - 1
    share = (min(max((value - low) / (high - low), 0.0), 1.0) for value in values)
    return "".join(_LEVELS[round(part * top)] for part in share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a line that may be left out: the lower its rank, the later."""

    content: Content
    rank: int


def fit(pieces: Sequence[Piece], width: int, *, gap: int = 3) -> list[Piece]:
    """The pieces that fit side by side into `width`, those of the highest rank left out first."""
    kept = [piece for piece in pieces if piece.content]
    while len(kept) > 1 and line_width(kept, gap=gap) > width:
        kept.remove(max(kept, key=lambda piece: piece.rank))
    return kept


def line(pieces: Sequence[Piece], width: int, *, gap: int = 3) -> Content:
    """The pieces that fit, as one line of at most `width` cells."""
    kept = fit(pieces, width, gap=gap)
    return Content(" " * gap).join([p.content for p in kept]).truncate(width, ellipsis=True)


def line_width(pieces: Sequence[Piece], *, gap: int = 3) -> int:
    """Cells that all of the pieces take side by side."""
    return sum(piece.content.cell_length for piece in pieces) + gap * (len(pieces) - 1)


def bar(fraction: float, width: int) -> tuple[str, str]:
    """A bar of `width` cells as its full part and its rest."""
    full = round(min(max(fraction, 0.0), 1.0) * width)
    return "━" * full, "─" * (width - full)


Columns = tuple[tuple[str, int], ...]
"""Heading and cells of each column of a table; what stands last is given up first."""


def columns_within(columns: Columns, width: int) -> Columns:
    """As many of the columns as `width` cells hold, at least one."""
    kept = columns
    while len(kept) > 1 and sum(cells for _, cells in kept) > width:
        kept = kept[:-1]
    return kept
