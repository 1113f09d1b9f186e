"""Several processes that train one run: who keeps the others waiting."""

from collections.abc import Sequence

from trainer.rundir.state import RankState

_NOTABLE_MS = 10.0
"""What the slowest spares itself of waiting, at least, to be named."""


def slowest(ranks: Sequence[RankState]) -> RankState | None:
    """The rank that the others wait for: it waits least itself; None where nobody stands out."""
    in_order = sorted((rank for rank in ranks if not rank.lost), key=lambda rank: rank.waited_ms)
    if len(in_order) < 2 or in_order[1].waited_ms - in_order[0].waited_ms < _NOTABLE_MS:
        return None
    return in_order[0]
