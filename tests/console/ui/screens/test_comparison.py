"""Two audits side by side, of several prompts."""

import pytest
from textual.widgets._toast import ToastRack

from console.ui.screens.comparison import ComparisonScreen
from console.ui.screens.health import HealthScreen
from console.ui.screens.help import HelpScreen
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
        assert stage.toasts() == ["this audit has one prompt only"]


async def test_help_opens_over_what_lies_over_the_panes_and_goes_back_there() -> None:
    view = view_with("one", "two")
    async with Stage(view).opened(100, 40) as stage:
        for screen in (ComparisonScreen(view.audits, view.audits[-1]), HealthScreen()):
            stage.app.push_screen(screen)
            await stage.pilot.press("question_mark")
            assert isinstance(stage.app.screen, HelpScreen)
            await stage.pilot.press("question_mark")
            assert stage.app.screen_stack[-1] is screen


@pytest.mark.parametrize("key", ["colon", "h", "exclamation_mark", "e"])
async def test_no_toast_lies_over_the_hints_at_the_bottom(key: str) -> None:
    async with Stage(view_with("one", "two")).opened(80, 24) as stage:
        await stage.pilot.press(key)
        screen = stage.app.screen
        hints = screen.query("#prompt-words, #listed-hint, #listed-detail")
        await screen.mount(rack := ToastRack())
        above = screen.size.height - rack.styles.margin.bottom
        assert hints
        assert all(hint.region.y >= above for hint in hints)
