"""Random signals and double starts, a few; `python -m tests.crash.storms` makes hundreds."""

from pathlib import Path

from tests.crash.storms import start_twice, storm
from tests.tiny import make_tiny_run


def test_no_signal_of_many_kills_hangs_or_is_lost(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    assert storm(run, 60, seed=1) >= 2


def test_of_two_trainers_started_at_once_one_trains_and_one_leaves(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    for _ in range(3):
        start_twice(run)
