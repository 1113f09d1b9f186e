"""Ranks that train one run, as lines: where room is short, the lost and the slowest first."""

from collections.abc import Sequence

from textual.content import Content

from console import formatting
from console.ui.theme import AMBER, DIM, RED
from console.ui.widgets.text import Piece, foreign, line
from console.view.ranks import slowest
from trainer.rundir.state import RankState


def rank_lines(ranks: Sequence[RankState], width: int, most: int) -> list[Content]:
    """A line each, at most so many; none of a run that one process trains."""
    if not ranks:
        return []
    last = slowest(ranks)
    order = sorted(ranks, key=lambda rank: (not rank.lost, rank is not last, rank.rank))
    shown = sorted(order[:most], key=lambda rank: rank.rank)
    lines = [_rank(rank, is_slowest=rank is last) for rank in shown]
    if len(shown) < len(ranks):
        more = f"and {formatting.count(len(ranks) - len(shown), 'rank')} more"
        lines[-1].append(Piece(content=Content.styled(more, DIM), rank=1))
    return [line(pieces, width, gap=2) for pieces in lines]


def _rank(rank: RankState, *, is_slowest: bool) -> list[Piece]:
    lost = f"✖ {foreign(rank.lost)}" if rank.lost else ""
    slow = " ▲ the others wait for it " if is_slowest and not rank.lost else ""
    waits = "" if rank.lost else f"waits {rank.waited_ms:.0f} ms a step"
    return [
        Piece(content=Content.styled(f"rank {rank.rank}", DIM), rank=0),
        Piece(content=Content.styled(lost, RED), rank=1),
        Piece(content=Content.styled(slow, AMBER), rank=1),
        Piece(content=Content(waits), rank=2),
        Piece(content=Content.styled(foreign(rank.host), DIM), rank=3),
        Piece(content=Content.styled(foreign(rank.device), DIM), rank=4),
    ]
