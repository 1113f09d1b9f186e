"""When the disk will be full, at this pace and by this retention; pure."""

import math
from dataclasses import dataclass

from trainer.rundir.config.settings import CheckpointSettings

_FEW_CHECKPOINTS = 3
"""Room for fewer more than this is an alarm."""
_OWN_INODES = 1
"""What the sidecars need beside a checkpoint: they are written anew beside themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is free where the run is; `None`: unknown."""

    free_bytes: int | None = None
    free_inodes: int | None = None
    """Files that can be made still; unknown where the file system makes inodes as it needs them."""
    checkpoint_bytes: int | None = None
    """Size of the next one."""

    @property
    def n_fit(self) -> int | None:
        """How many checkpoints more there is room for, by what is used up first."""
        counts = [count for count in (self._by_bytes, self._by_inodes) if count is not None]
        return min(counts, default=None)

    @property
    def is_almost_full(self) -> bool:
        return self.n_fit is not None and self.n_fit < _FEW_CHECKPOINTS

    @property
    def is_short_of_inodes(self) -> bool:
        """Whether they are used up before the bytes are."""
        by_bytes, by_inodes = self._by_bytes, self._by_inodes
        return by_bytes is not None and by_inodes is not None and by_inodes < by_bytes

    @property
    def _by_bytes(self) -> int | None:
        if self.free_bytes is None or not self.checkpoint_bytes:
            return None
        return self.free_bytes // self.checkpoint_bytes

    @property
    def _by_inodes(self) -> int | None:
        return None if self.free_inodes is None else max(0, self.free_inodes - _OWN_INODES)


def coarse(count: int | None) -> int | None:
    """Three significant digits: free space that only flutters stays the same on screen."""
    if count is None or count < 1000:
        return count
    unit = int(10 ** (len(str(count)) - 3))
    return count // unit * unit


def steps_until_full(n_fit: int, settings: CheckpointSettings, *, n_checkpoints: int) -> int:
    """Steps after which a save finds no room, with room for `n_fit` checkpoints more.

    With `keep_last` only the milestones add up, once that many checkpoints are there.
    """
    if not settings.keep_last:
        return n_fit * settings.every
    n_until_steady = max(0, settings.keep_last - n_checkpoints)
    if n_fit <= n_until_steady:
        return n_fit * settings.every
    milestone_steps = math.lcm(settings.every, settings.keep_every)
    return n_until_steady * settings.every + (n_fit - n_until_steady) * milestone_steps


def full_in_seconds(
    steps: int, *, steps_left: int | None, seconds_per_step: float | None
) -> float | None:
    """Time until then; `None` if the run ends first or the pace is unknown."""
    if seconds_per_step is None or (steps_left is not None and steps >= steps_left):
        return None
    return steps * seconds_per_step
