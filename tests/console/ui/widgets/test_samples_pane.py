"""The samples pane."""

from dataclasses import replace

from console.ui.messages import StepChosen
from console.ui.screens.dashboard import Dashboard
from console.ui.widgets.samples import SamplesPane
from console.view.run_view import Audit, RunView, Sample
from tests.console import fixed_run
from tests.console.headless import Stage


def view_with(*texts: str) -> RunView:
    """An audit a text, 100 steps apart from 100 on; the score falls by a point each."""
    audits = tuple(
        Audit(
            step=100 * (index + 1),
            checkpoint=f"step_{100 * (index + 1):06d}.bin",
            prompt="The ",
            text=text,
            score=70.0 - index,
            bigram_diversity=30.0 - index,
            val_loss=3.0 - index / 10,
            t=float(index),
        )
        for index, text in enumerate(texts)
    )
    return replace(fixed_run.fixed_view(3), audits=audits)


def pane_of(stage: Stage) -> SamplesPane:
    return stage.app.screen.query_one(SamplesPane)


async def test_a_chosen_step_shows_the_sample_at_or_before_it_and_none_the_newest() -> None:
    async with Stage(view_with("one", "two", "three")).opened(80, 24) as stage:
        await stage.pilot.press("2")
        for step, seen in ((200, "step 200"), (299, "step 200"), (None, "step 300")):
            pane_of(stage).select(step)
            await stage.pilot.pause()
            assert seen in stage.text()
        pane_of(stage).select(99)
        await stage.pilot.pause()
        assert "no sample up to step 99" in stage.text()


async def test_walking_chooses_the_step_for_all_panes_and_the_newest_lets_them_follow() -> None:
    async with Stage(view_with("one", "two", "three")).opened(80, 24) as stage:
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.press("2", "left")
        await stage.until(lambda: screen.step == 200, "the step")
        await stage.pilot.press("right")
        await stage.until(lambda: screen.step is None, "the newest")
        screen.post_message(StepChosen(100))
        await stage.until(lambda: "step 100" in stage.text(), "the first sample")


async def test_a_sample_tells_its_difference_to_the_one_before() -> None:
    async with Stage(view_with("one", "two")).opened(80, 24) as stage:
        await stage.pilot.press("2")
        assert "score 69.0 -1.0" in stage.text()
        assert "val_loss 2.9000 -0.1000" in stage.text()
        await stage.pilot.press("b")
        assert "29.0/35 -1.0" in stage.text()


async def test_what_a_text_repeats_is_counted_and_underlined() -> None:
    async with Stage(view_with("go on and on and go on and on again")).opened(80, 24) as stage:
        await stage.pilot.press("2")
        assert "repeated 40 %" in stage.text()
        strips = stage.app.screen._compositor.render_strips()
        underlined = [
            segment.text
            for strip in strips
            for segment in strip
            if segment.style is not None and segment.style.underline
        ]
        assert "".join(underlined).strip() == "go on and on"


async def test_a_search_goes_through_the_samples_in_both_directions() -> None:
    view = view_with("a Needle", "hay", "needle too", "hay")
    async with Stage(view).opened(80, 24) as stage:
        await stage.pilot.press("2", "slash", *"needle", "enter")
        assert "step 300" in stage.text()
        await stage.pilot.press("n")
        assert "step 100" in stage.text()
        await stage.pilot.press("n")
        assert "no further match" in stage.text()
        await stage.pilot.press("N")
        assert "step 300" in stage.text()
        await stage.pilot.press("slash", *"Needle", "enter")
        assert "step 100" in stage.text()


def view_of_prompts(*prompts: str, steps: int = 2) -> RunView:
    """Audits with a sample behind each prompt; the scores of the n-th are 60 - n and rise by 1."""
    audits = tuple(
        Audit(
            step=100 * index,
            checkpoint=f"step_{100 * index:06d}.bin",
            text=f"freely {index}",
            score=60.0 + index,
            more=tuple(
                Sample(prompt=prompt, text=f"made of it {index}", score=60.0 - n + index)
                for n, prompt in enumerate(prompts, 1)
            ),
        )
        for index in range(1, steps + 1)
    )
    return replace(fixed_run.fixed_view(3), audits=audits)


async def test_prompts_stand_side_by_side_at_160_cells() -> None:
    async with Stage(view_of_prompts("def ", "The \x1b[2J")).opened(160, 45) as stage:
        await stage.pilot.press("2", "z")
        rows = stage.text().splitlines()
        heading = next(row for row in rows if "no prompt" in row)
        assert "“def” 61.0 +1.0" in heading
        assert "“The \\x1b[2J” 60.0 +1.0" in heading
        text = next(row for row in rows if "freely 2" in row)
        assert text.count(" │ ") == 2
        assert "def made of it 2" in text
        assert "3 prompts" in stage.text()


async def test_at_80_cells_one_prompt_is_shown_and_t_turns_to_the_next() -> None:
    async with Stage(view_of_prompts("def ", "The ")).opened(80, 24) as stage:
        await stage.pilot.press("2")
        for n, name, score in ((1, "no prompt", "62"), (2, "“def”", "61"), (3, "“The”", "60")):
            assert f"prompt {n} of 3" in stage.text()
            assert f"{name} {score}.0 +1.0" in stage.text()
            assert f"score {score}.0 +1.0" in stage.text()
            await stage.pilot.press("t")
        assert "prompt 1 of 3" in stage.text()
        await stage.pilot.press("t", "left")
        assert "step 100" in stage.text()
        assert "def made of it 1" in stage.text()


async def test_an_audit_without_the_prompt_that_was_turned_to_shows_its_first() -> None:
    view = view_of_prompts("def ")
    older, newer = view.audits
    view = replace(view, audits=(replace(older, more=()), newer))
    async with Stage(view).opened(80, 24) as stage:
        await stage.pilot.press("2", "t")
        assert "def made of it 2" in stage.text()
        await stage.pilot.press("left")
        assert "freely 1" in stage.text()
        await stage.pilot.press("t", "right")
        assert "def made of it 2" in stage.text()


async def test_a_key_to_turn_is_offered_only_where_there_is_more_than_one_prompt() -> None:
    async with Stage(view_of_prompts("def ")).opened(160, 45) as stage:
        await stage.pilot.press("2")
        assert "t prompt" in stage.text()
        await stage.becomes(view_with("one", "two"))
        assert "t prompt" not in stage.text()


async def test_a_search_turns_to_the_prompt_that_holds_the_match() -> None:
    async with Stage(view_of_prompts("def ", "The ")).opened(80, 24) as stage:
        await stage.pilot.press("2", "slash", *"The", "space", "m", "enter")
        assert "The made of it 2" in stage.text()
        await stage.pilot.press("n")
        assert "The made of it 1" in stage.text()
