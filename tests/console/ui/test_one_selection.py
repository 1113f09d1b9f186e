"""One step is chosen for all panes, whichever pane it was chosen in."""

from dataclasses import replace

from textual import events

from console.ui.screens.dashboard import Dashboard
from console.ui.widgets.loss_chart import LossChart
from console.ui.widgets.samples import SamplesPane
from console.view.run_view import Audit
from tests.console import fixed_run
from tests.console.headless import Stage

STEPS = 62_000
"""Of the newest sample."""


def stage_of_audits() -> Stage:
    """Records of every step, and an audit each hundred."""
    audits = tuple(
        Audit(step=step, checkpoint=f"step_{step:06d}.bin", text=f"written at {step:,}")
        for step in range(100, STEPS + 1, 100)
    )
    view = replace(fixed_run.fixed_view(3), audits=audits)
    return Stage(view, series=fixed_run.fixed_series())


def dashboard_of(stage: Stage) -> tuple[Dashboard, list[int | None]]:
    """The screen, and every step that it is told from here on."""
    screen = stage.app.screen
    assert isinstance(screen, Dashboard)
    told: list[int | None] = []

    def tell(step: int | None) -> None:
        told.append(step)

    screen.watch(screen, "step", tell, init=False)
    return screen, told


async def test_three_keys_lead_from_the_charts_cursor_to_the_sample_of_the_checkpoint_before() -> (
    None
):
    async with stage_of_audits().opened(160, 45) as stage:
        screen, told = dashboard_of(stage)
        await stage.pilot.press("g", *"61342", "enter")
        await stage.until(lambda: screen.step == 61_342, "the step")
        await stage.pilot.press("2", "z")
        assert "step 61,300" in stage.text()
        assert "written at 61,300" in stage.text()
        await stage.pilot.press("left")
        await stage.until(lambda: "written at 61,200" in stage.text(), "the sample before")
        await stage.until(lambda: screen.query_one(LossChart).look.cursor == 61_200, "the cursor")
        assert told == [61_342, 61_200], "each choice is told once, and none comes back"


async def test_f_or_escape_in_the_samples_let_all_panes_follow_again() -> None:
    async with stage_of_audits().opened(80, 24) as stage:
        screen, told = dashboard_of(stage)
        for key in ("F", "escape"):
            await stage.pilot.press("1", "g", *"61300", "enter", "2")
            await stage.until(lambda: screen.step == 61_300, "the step")
            assert "written at 61,300" in stage.text()
            await stage.pilot.press(key)
            await stage.until(lambda: screen.step is None, "following")
            assert "written at 62,000" in stage.text()
            assert screen.query_one(LossChart).look.cursor is None
        assert told == [61_300, None] * 2


async def test_of_many_keys_at_once_none_is_lost() -> None:
    async with stage_of_audits().opened(80, 24) as stage:
        screen, _ = dashboard_of(stage)
        await stage.pilot.press("2")
        for _ in range(30):
            stage.app.post_message(events.Key("left", None))
        await stage.until(lambda: screen.step == STEPS - 3000, "thirty samples before")
        await stage.pilot.pause()
        assert screen.query_one(SamplesPane).step == STEPS - 3000
        assert screen.query_one(LossChart).look.cursor == STEPS - 3000


async def test_a_step_chosen_while_the_checkpoints_are_hidden_is_in_sight_when_they_are_shown() -> (
    None
):
    view = fixed_run.fixed_view(200)
    chosen = view.checkpoints[20].step
    async with Stage(view, series=fixed_run.fixed_series()).opened(80, 24) as stage:
        screen, _ = dashboard_of(stage)
        await stage.pilot.press("g", *str(chosen), "enter")
        await stage.until(lambda: screen.step == chosen, "the step")
        await stage.pilot.press("4")
        await stage.until(lambda: f"{chosen:,} " in stage.text(), "the chosen checkpoint")
