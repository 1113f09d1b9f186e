"""What is typed leads to the step that it means, or says why not."""

import time

import numpy as np
import pytest

from console.chart.series import Series, SeriesView
from console.view.goto import GoToError, step_meant
from console.view.run_view import Audit

BEGAN = 1_780_000_000.0  # 2026-05-28 20:26:40 UTC
STEPS = 100_000
NOW = BEGAN + 10.0 * STEPS + 3600
SPIKE_STEP = 61_300


@pytest.fixture(scope="module")
def series() -> SeriesView:
    """A step every ten seconds; phases and starts, a spike; steps 500 to 600 are gone."""
    step = np.arange(1, STEPS + 1)
    ema = 3 + 5 * np.exp(-step / 5000)
    loss = ema + np.random.default_rng(1).normal(0, 0.09, STEPS)
    loss[SPIKE_STEP - 1] += 2.5
    kept = (step < 500) | (step > 600)
    found = Series()
    found.append_many(
        step[kept],
        loss[kept],
        ema[kept],
        t=(BEGAN + 10.0 * step)[kept],
        phase=(1 + step // 40_000)[kept],
        attempt=(1 + step // 25_000)[kept],
    )
    return found.view()


AUDITS = [
    Audit(step=1000, checkpoint="a", score=70.0, val_loss=4.0),
    Audit(step=2000, checkpoint="b", score=60.0, val_loss=3.0),
    Audit(step=3000, checkpoint="c"),
]


def meant(typed: str, series: SeriesView, audits: list[Audit] = AUDITS) -> int:
    return step_meant(typed, series, audits, now=NOW)


@pytest.mark.parametrize(
    ("typed", "step"),
    [
        ("61300", 61_300),
        (" 61,300 ", 61_300),
        ("step 61300", 61_300),
        ("61.3k", 61_300),
        ("0", 1),
        ("520", 499),
        ("580", 601),
        ("first", 1),
        ("last", STEPS),
        ("-3d", 74_440),
        ("-90m", 99_820),
        ("- 2 h", 99_640),
        ("2026-06-04 22:40", 61_280),
        ("2026-06-04", 53_120),
        ("00:30", 96_500),
        ("phase 2", 40_000),
        ("Phase 3", 80_000),
        ("start 3", 50_000),
        ("attempt 3", 50_000),
        ("best", 2000),
        ("best score", 1000),
        ("spike", SPIKE_STEP),
    ],
)
def test_what_is_typed_is_a_step(series: SeriesView, typed: str, step: int) -> None:
    assert meant(typed, series) == step


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "It takes a step, -3d"),
        ("somewhere", "somewhere? It takes a step, -3d"),
        ("200000", "step 200,000 is not recorded: the history goes from 1 to 100,000"),
        ("-30d", "the history goes from 2026-05-28 20:26 to"),
        ("2020-01-01", "nothing was recorded at 2020-01-01 00:00"),
        ("2026-13-01", "2026-13-01 00:00 is no time"),
        ("25:70", "is no time"),
        ("phase 9", "no step of phase 9 is recorded; there is 1, 2, 3"),
        ("start 0", "there is 1, 2, 3, 4, 5"),
        (":", "It takes"),
        ("9" * 400, "It takes"),
        ("-" + "9" * 9 + "w", "nothing was recorded at"),
    ],
)
def test_what_leads_nowhere_says_why(series: SeriesView, typed: str, says: str) -> None:
    with pytest.raises(GoToError) as told:
        meant(typed, series)
    assert says in str(told.value)


def test_a_clock_that_is_still_to_come_today_is_yesterdays(series: SeriesView) -> None:
    clock = time.strftime("%H:%M", time.localtime(NOW + 1800))
    yesterday = time.strftime("%Y-%m-%d %H:%M", time.localtime(NOW + 1800 - 86_400))
    assert meant(clock, series) == meant(yesterday, series)


def test_without_held_out_losses_the_best_is_the_highest_score(series: SeriesView) -> None:
    assert meant("best", series, [Audit(step=7, checkpoint="a", score=1.0)]) == 7
    with pytest.raises(GoToError, match="no audit has been made yet"):
        meant("best", series, [])


def test_without_a_loss_that_stands_out_there_is_no_spike() -> None:
    series, step = Series(), np.arange(1, 5001)
    ema = 3 + 5 * np.exp(-step / 5000)
    series.append_many(step, ema + np.random.default_rng(2).normal(0, 0.09, 5000), ema)
    for few in (series.view(), Series().view()):
        with pytest.raises(GoToError):
            meant("spike", few)
    with pytest.raises(GoToError, match="the history tells no times"):
        meant("-3d", series.view())


def test_a_history_of_losses_that_are_no_numbers_has_no_spike() -> None:
    series = Series()
    series.append_many([1, 2, 3, 4], [None] * 4, [None] * 4)
    with pytest.raises(GoToError, match="too few losses"):
        meant("spike", series.view())
