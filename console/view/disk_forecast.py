"""When the disk will be full, at this pace and by this retention; pure."""

import math

from trainer.rundir.config.settings import CheckpointSettings


def coarse_bytes(n_bytes: int) -> int:
    """Three significant digits: free space that only flutters stays the same on screen."""
    if n_bytes < 1000:
        return n_bytes
    unit = int(10 ** (len(str(n_bytes)) - 3))
    return n_bytes // unit * unit


def steps_until_full(
    free_bytes: int, checkpoint_bytes: int, settings: CheckpointSettings, *, n_checkpoints: int
) -> int:
    """Steps after which a save finds no room.

    With `keep_last` only the milestones add up, once that many checkpoints are there.
    """
    n_fit = free_bytes // checkpoint_bytes
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
