"""The list of series: what is wrong first, and a way to where it began."""

from dataclasses import replace

import pytest

from console.chart.track import Track
from console.health.verdict import NOT_JUDGED, Health
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.health import HealthScreen, track_of
from console.ui.widgets.loss_chart import LossChart
from tests.console import fixed_run
from tests.console.headless import Stage

ILL_VIEW = replace(fixed_run.fixed_view(12), health=fixed_run.ill_health())


def stage_of(health: Health) -> Stage:
    view = replace(fixed_run.fixed_view(12), health=health)
    return Stage(view, series=fixed_run.fixed_series())


async def open_health(stage: Stage) -> None:
    await stage.pilot.press("h")
    await stage.until(lambda: isinstance(stage.app.screen, HealthScreen), "the screen")
    await stage.pilot.pause()


def row(stage: Stage, series: str) -> str:
    lines = stage.text().splitlines()
    return next(line for line in lines if f" {series} " in line and ("●" in line or "✖" in line))


async def test_every_series_has_a_line_and_those_that_are_ill_come_first() -> None:
    async with stage_of(fixed_run.ill_health()).opened(80, 30) as stage:
        await open_health(stage)
        text = stage.text()
        assert "Health: ✖ ill" in text
        assert text.index("audit score 75") < text.index("loss of chat 2.95") < text.index("2.812")
        assert "✖ score " in row(stage, "score")
        assert "audit score 75 → 37" in row(stage, "score")
        assert "since ~36,200" in row(stage, "score")
        assert "9 d 0 h ago" in row(stage, "score")
        assert "● val_loss of books " in row(stage, "val_loss of books")
        for series in ("grad_norm", "clipping", "step time", "tokens/s", "disk", "checkpoint"):
            assert "●" in row(stage, series)
        assert "(9 d 0 h ago), step 36,182" in text
        assert "certain: 21 standard errors" in text


async def test_where_it_is_wide_each_line_says_how_sure_it_is() -> None:
    async with stage_of(fixed_run.ill_health()).opened(160, 45) as stage:
        await open_health(stage)
        assert "9 d 0 h ago   certain: 21 standard errors" in row(stage, "score")
        assert "2 d 2 h ago   likely: 7 standard errors" in row(stage, "loss of chat")


async def test_enter_goes_to_where_it_began_and_shows_that_track() -> None:
    async with stage_of(fixed_run.ill_health()).opened(80, 24) as stage:
        dashboard, chart = stage.app.screen, stage.app.screen.query_one(LossChart)
        assert isinstance(dashboard, Dashboard)
        await stage.pilot.press("5")
        await open_health(stage)
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.screen is dashboard, "the dashboard")
        await stage.until(lambda: chart.look.cursor == 36_182, "the cursor on its step")
        assert chart.look.tracks == (Track.SCORE,)
        assert dashboard.chosen == 0


async def test_a_series_that_is_well_shows_its_track_and_escape_shows_nothing() -> None:
    async with stage_of(fixed_run.fixed_health()).opened(80, 30) as stage:
        chart = stage.app.screen.query_one(LossChart)
        await open_health(stage)
        await stage.pilot.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, Dashboard), "the dashboard")
        assert chart.look.tracks == (Track.LOSS,)
        await open_health(stage)
        await stage.pilot.press(*["down"] * 6, "enter")
        await stage.until(lambda: chart.look.tracks == (Track.VAL_LOSS,), "its track")
        assert chart.look.cursor is None


async def test_the_cursor_stays_with_its_series_when_another_becomes_ill() -> None:
    async with stage_of(fixed_run.fixed_health()).opened(80, 30) as stage:
        await open_health(stage)
        await stage.pilot.press("down", "down")
        assert "loss of stdlib-code: 2.268" in stage.text()
        await stage.becomes(ILL_VIEW)
        assert "Health: ✖ ill" in stage.text()
        assert "loss of stdlib-code: 2.268" in stage.text()


async def test_opened_before_the_run_is_judged_it_begins_with_what_is_wrong_then() -> None:
    async with stage_of(NOT_JUDGED).opened(80, 24) as stage:
        await open_health(stage)
        assert "not judged yet" in stage.text()
        await stage.becomes(ILL_VIEW)
        assert "score: audit score 75 → 37; certain" in stage.text()


async def test_long_names_that_differ_are_shown_as_different() -> None:
    names = [f"val_loss of stdlib-{name}" for name in ("docstrings", "docs", "code")]
    health = replace(
        fixed_run.fixed_health(),
        lines=tuple(replace(fixed_run.fixed_health().lines[0], series=name) for name in names),
    )
    async with stage_of(health).opened(80, 24) as stage:
        await open_health(stage)
        shown = [line[4:22] for line in stage.text().splitlines() if "2.812" in line][:3]
        assert len(set(shown)) == 3


async def test_dates_in_place_of_ages_and_nothing_drawn_while_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with stage_of(fixed_run.ill_health()).opened(80, 24) as stage:
        await open_health(stage)
        await stage.pilot.press("T")
        await stage.pilot.pause()
        assert "May 19 20:26" in row(stage, "score")
        drawn: list[object] = []
        monkeypatch.setattr(type(stage.app), "_display", lambda *args: drawn.append(args))
        await stage.wake()
        assert drawn == []
        await stage.becomes(replace(ILL_VIEW, health=fixed_run.fixed_health()))
        assert drawn


async def test_of_a_new_run_it_says_why_nothing_is_known() -> None:
    health = Health(verdict="unknown", why_unknown="3 of 200 records")
    async with stage_of(health).opened(80, 24) as stage:
        await open_health(stage)
        assert "Health: ? health unknown: 3 of 200 records" in stage.text()
        await stage.pilot.press("enter", "down", "enter")
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, HealthScreen)  # disk and checkpoint have no track


def test_each_series_has_the_track_that_shows_it() -> None:
    assert track_of("loss of score") is Track.LOSS_BY_ARM
    assert track_of("val_loss of wiki") is Track.VAL_LOSS
    assert track_of("clipping") is Track.GRAD_NORM
    assert track_of("disk") is None
