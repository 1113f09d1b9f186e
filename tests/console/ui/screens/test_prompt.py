"""One prompt leads anywhere in the run."""

from console.ui.screens.dashboard import Dashboard
from console.ui.screens.prompt import PromptScreen
from console.ui.widgets.loss_chart import LossChart
from tests.console import fixed_run
from tests.console.headless import Stage


def stage() -> Stage:
    return Stage(series=fixed_run.fixed_series())


async def test_a_step_that_is_typed_is_chosen_for_all_panes() -> None:
    async with stage().opened(80, 24) as console:
        await console.pilot.press("colon", *"61300", "enter")
        await console.until(lambda: isinstance(console.app.screen, Dashboard), "the dashboard")
        chart = console.app.screen.query_one(LossChart)
        await console.until(lambda: chart.look.cursor == 61_300, "the cursor")


async def test_what_leads_nowhere_is_told_and_can_be_typed_anew() -> None:
    async with stage().opened(80, 24) as console:
        await console.pilot.press("colon", *"wher[/]e", "enter")
        await console.until(lambda: "wher[/]e? It takes a step, -3d" in console.text(), "the words")
        await console.pilot.press(*["backspace"] * 8, *"last", "enter")
        await console.until(lambda: isinstance(console.app.screen, Dashboard), "the dashboard")
        chart = console.app.screen.query_one(LossChart)
        await console.until(lambda: chart.look.cursor == fixed_run.STEP, "the cursor")


async def test_escape_and_an_empty_line_lead_nowhere() -> None:
    async with stage().opened(80, 24) as console:
        for keys in (["colon", *"12", "escape"], ["colon", "enter"]):
            await console.pilot.press(*keys)
            await console.pilot.pause()
            dashboard = console.app.screen
            assert isinstance(dashboard, Dashboard)
            assert dashboard.step is None


async def test_keys_of_the_console_are_text_in_the_prompt() -> None:
    async with stage().opened(80, 24) as console:
        await console.pilot.press("colon", *"cpqd")
        await console.pilot.pause()
        assert isinstance(console.app.screen, PromptScreen)
        assert ": cpqd" in console.text()
        assert console.operations.calls == []
