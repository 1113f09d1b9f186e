"""The learning rate is the closed form at every step."""

import pytest

from trainer.engine.schedule import learning_rate
from trainer.rundir.config.settings import OptimizerSettings

SETTINGS = OptimizerSettings(lr=3e-4, min_lr=3e-5, warmup_steps=100)


@pytest.mark.parametrize(
    ("step", "lr"),
    [
        (1, 3e-6),
        (50, 1.5e-4),
        (100, 3e-4),
        (1050, 1.65e-4),
        (2000, 3e-5),
    ],
)
def test_rate_warms_up_and_falls_by_a_cosine(step: int, lr: float) -> None:
    assert learning_rate(step, 2000, SETTINGS) == pytest.approx(lr, rel=1e-12)


def test_rate_never_rises_after_the_warm_up() -> None:
    rates = [learning_rate(step, 2000, SETTINGS) for step in range(100, 2001)]
    assert rates == sorted(rates, reverse=True)


def test_without_a_warm_up_the_first_step_is_just_under_the_full_rate() -> None:
    settings = OptimizerSettings(lr=3e-4, min_lr=0.0, warmup_steps=0)
    assert learning_rate(1, 1000, settings) == pytest.approx(3e-4, rel=1e-5)
