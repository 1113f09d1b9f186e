"""The choice of the chart's tracks."""

from dataclasses import replace

import pytest

from console.chart.track import Track
from console.ui.screens.tracks import TracksScreen
from console.ui.widgets.loss_chart import LossChart
from tests.console import fixed_run
from tests.console.headless import Stage


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_marked_tracks_are_drawn_one_under_the_other(size: tuple[int, int]) -> None:
    async with Stage(series=fixed_run.fixed_series()).opened(*size) as stage:
        await stage.pilot.press("M", "down", "enter", "down", "enter", "escape")
        chart = stage.app.screen.query_one(LossChart)
        assert chart.look.tracks == (Track.LOSS, Track.VAL_LOSS, Track.SCORE)
        shown = stage.text()
    assert "val_loss 2.8" in shown
    assert "score 7" in shown


async def test_only_what_is_recorded_is_offered_and_nothing_marked_leaves_the_loss() -> None:
    view = replace(fixed_run.fixed_view(12), audits=())
    async with Stage(view, series=fixed_run.fixed_series()).opened(80, 24) as stage:
        await stage.pilot.press("M")
        assert isinstance(stage.app.screen, TracksScreen)
        shown = stage.text()
        assert "[x] loss" in shown
        assert "grad_norm" not in shown
        await stage.pilot.press("enter", "escape")
        assert stage.app.screen.query_one(LossChart).look.tracks == (Track.LOSS,)
