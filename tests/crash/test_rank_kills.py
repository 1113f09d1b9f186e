"""Ranks that are killed at drawn moments: `python -m tests.crash.rank_kills 100` draws more."""

from pathlib import Path

from tests.crash.rank_kills import kill_at_random
from tests.forked_ranks import zygote


def test_any_rank_killed_at_any_moment_costs_no_byte(tmp_path: Path) -> None:
    with zygote() as opened:
        assert kill_at_random(opened, tmp_path, 3, seed=1).total() == 3
