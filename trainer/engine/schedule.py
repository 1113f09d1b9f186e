"""The learning rate as a pure function of the step."""

import math

from trainer.rundir.config.settings import OptimizerSettings


def learning_rate(step: int, total_steps: int, settings: OptimizerSettings) -> float:
    """The rate of update number `step` (1 to `total_steps`).

    Linear warm-up to `lr` at `warmup_steps`, then a cosine down to `min_lr` at `total_steps`
    (Loshchilov and Hutter 2017, without restarts).
    """
    if step <= settings.warmup_steps:
        return settings.lr * step / settings.warmup_steps
    progress = (step - settings.warmup_steps) / (total_steps - settings.warmup_steps)
    share = 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))
    return settings.min_lr + share * (settings.lr - settings.min_lr)
