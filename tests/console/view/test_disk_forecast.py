"""When the disk will be full."""

import pytest

from console.view.disk_forecast import Room, coarse, full_in_seconds, steps_until_full
from trainer.rundir.config.settings import CheckpointSettings


def test_free_space_that_flutters_stays_the_same() -> None:
    assert coarse(84_212_345_678) == coarse(84_298_000_001) == 84_200_000_000
    assert coarse(999) == 999
    assert coarse(0) == 0


@pytest.mark.parametrize(
    ("free", "keep_last", "n_checkpoints", "steps"),
    [
        (1000, 0, 50, 10 * 100),
        (99, 0, 0, 0),
        (1000, 20, 5, 10 * 100),
        (1000, 5, 5, 10 * 1000),
        (1000, 8, 5, 3 * 100 + 7 * 1000),
    ],
)
def test_retention_slows_the_filling(
    free: int, keep_last: int, n_checkpoints: int, steps: int
) -> None:
    settings = CheckpointSettings(every=100, keep_last=keep_last, keep_every=1000)
    assert steps_until_full(free // 100, settings, n_checkpoints=n_checkpoints) == steps


def test_room_is_what_is_used_up_first() -> None:
    room = Room(free_bytes=1000, free_inodes=50, checkpoint_bytes=100)
    assert (room.n_fit, room.is_short_of_inodes) == (10, False)
    room = Room(free_bytes=1000, free_inodes=5, checkpoint_bytes=100)
    assert (room.n_fit, room.is_short_of_inodes) == (4, True)
    assert Room(free_bytes=1000, free_inodes=0, checkpoint_bytes=100).n_fit == 0
    assert Room(free_bytes=1000).n_fit is None


def test_a_disk_that_outlasts_the_run_is_not_in_sight() -> None:
    assert full_in_seconds(1000, steps_left=1000, seconds_per_step=10) is None
    assert full_in_seconds(1000, steps_left=1001, seconds_per_step=10) == 10_000
    assert full_in_seconds(1000, steps_left=None, seconds_per_step=10) == 10_000
    assert full_in_seconds(1000, steps_left=None, seconds_per_step=None) is None
