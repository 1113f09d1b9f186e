"""Two audits side by side, of several prompts."""

from console.ui.screens.comparison import ComparisonScreen
from tests.console.headless import Stage
from tests.console.ui.widgets.test_samples_pane import view_of_prompts, view_with


async def test_t_compares_the_samples_of_the_next_prompt() -> None:
    view = view_of_prompts("def ")
    async with Stage(view).opened(100, 40) as stage:
        stage.app.push_screen(ComparisonScreen(view.audits, view.audits[-1]))
        await stage.until(lambda: "freely 1" in stage.text(), "the first sample")
        assert "freely 2" in stage.text()
        await stage.pilot.press("t")
        for seen in ("“def”", "def made of it 1", "def made of it 2", "60.0", "61.0"):
            assert seen in stage.text()
        await stage.pilot.press("t")
        assert "freely 2" in stage.text()


async def test_of_one_prompt_there_is_nothing_to_turn_to() -> None:
    view = view_with("one", "two")
    async with Stage(view).opened(100, 40) as stage:
        stage.app.push_screen(ComparisonScreen(view.audits, view.audits[-1]))
        await stage.until(lambda: "The one" in stage.text(), "the texts")
        assert "next prompt" not in stage.text()
        await stage.pilot.press("t")
        assert "The two" in stage.text()
