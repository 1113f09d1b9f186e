"""Any size at any moment: something sensible, never a crash."""

import random

from tests.console import fixed_run
from tests.console.headless import Stage


async def test_500_resizes_from_20x5_to_300x100_leave_state_and_step_in_sight() -> None:
    rng = random.Random(20)
    keys = ["1", "2", "3", "4", "5", "z", "tab", "down", "end", "home"]
    async with Stage(series=fixed_run.fixed_series()).opened() as stage:
        for turn in range(500):
            # As many small sizes as large ones, on a logarithmic scale.
            width, height = round(20 * 15 ** rng.random()), round(5 * 20 ** rng.random())
            await stage.resize(width, height)
            if turn % 5 == 0:
                await stage.pilot.press(rng.choice(keys))
            if turn % 25 == 0:
                text = stage.text()
                assert "training" in text, (width, height)
                assert "113,942" in text, (width, height)


async def test_dialogs_fit_into_any_size() -> None:
    async with Stage().opened(80, 24) as stage:
        for key in ("question_mark", "q"):
            await stage.pilot.press(key)
            stage.hands.monotonic += 1.0
            for size in ((20, 5), (300, 100), (40, 12)):
                await stage.pilot.resize_terminal(*size)
                assert stage.text().strip()
            await stage.pilot.press("escape")
