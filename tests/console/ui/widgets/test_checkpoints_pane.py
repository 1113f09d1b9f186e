"""The list of checkpoints: lazy, ordered, named."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.content import Content

from console.ui.messages import StepChosen
from console.ui.screens.dashboard import Dashboard
from console.ui.widgets import checkpoints
from console.ui.widgets.checkpoint_lines import row_content
from console.ui.widgets.checkpoints import CheckpointsPane, merged_rows
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.checkpoints.checkpoint import Skipped


def test_a_skipped_file_stands_where_its_number_puts_it() -> None:
    view = fixed_run.fixed_view(3)
    skipped = (
        Skipped(path=Path("step_113850.bin"), reason="size"),
        Skipped(path=Path("odd.bin"), reason="name"),
    )
    rows = merged_rows(replace(view, skipped=skipped))
    names = [row.path.name if isinstance(row, Skipped) else row.name for row in rows]
    assert names == [
        "step_113900.bin",
        "step_113850.bin",
        "step_113800.bin",
        "step_113700.bin",
        "odd.bin",
    ]


async def test_one_more_of_2000_checkpoints_makes_only_the_lines_in_sight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    make: Callable[..., Content] = row_content

    def recorded(*args: object, **named: object) -> Content:
        made.append(1)
        return make(*args, **named)

    view = fixed_run.fixed_view(1139)
    rows = (*view.checkpoints, *(replace(view.checkpoints[0], step=n) for n in range(1, 900)))
    view = replace(view, checkpoints=tuple(sorted(rows, key=lambda row: row.step)))
    async with Stage(view).opened(160, 45) as stage:
        await stage.pilot.press("4")
        monkeypatch.setattr(checkpoints, "row_content", recorded)
        new = fixed_run.stopped_view().checkpoints[-1]
        await stage.becomes(replace(view, checkpoints=(*view.checkpoints, new)))
        assert "113,943" in stage.text()
        assert f"checkpoints: {len(view.checkpoints) + 1:,}" in stage.text()
    assert 0 < len(made) < 200


def step_under_cursor(stage: Stage) -> int | None:
    pane = stage.app.screen.query_one(CheckpointsPane)
    row = pane.row_here
    return None if row is None or isinstance(row, Skipped) else row.step


def is_under_cursor(stage: Stage, step: int | None) -> bool:
    return step_under_cursor(stage) == step


async def test_a_chosen_step_puts_the_cursor_on_the_checkpoint_at_or_before_it() -> None:
    view = fixed_run.fixed_view(3)
    async with Stage(view).opened(160, 45) as stage:
        for step, found in (
            (113_800, 113_800),
            (113_799, 113_700),
            (10**9, 113_900),
            (1, None),
            (None, 113_900),
        ):
            stage.app.screen.post_message(StepChosen(step))
            await stage.until(partial(is_under_cursor, stage, found), f"{found}")
            await stage.becomes(replace(view, marks=()))
            assert step_under_cursor(stage) == found


async def test_a_checkpoint_that_is_gone_leaves_the_cursor_on_the_one_before_it() -> None:
    view = fixed_run.fixed_view(3)
    async with Stage(view).opened(160, 45) as stage:
        stage.app.screen.post_message(StepChosen(113_850))
        await stage.until(lambda: step_under_cursor(stage) == 113_800, "the one before")
        first, _, last = view.checkpoints
        await stage.becomes(replace(view, checkpoints=(first, last)))
        assert step_under_cursor(stage) == 113_700


async def test_moving_chooses_the_step_for_all_panes_once_and_the_newest_lets_them_follow() -> None:
    async with Stage(fixed_run.fixed_view(3)).opened(160, 45) as stage:
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.press("4", "down")
        await stage.until(lambda: screen.step == 113_800, "the step")
        screen.post_message(StepChosen(113_799))
        await stage.until(lambda: step_under_cursor(stage) == 113_700, "the one before")
        assert screen.step == 113_799
        await stage.pilot.press("home")
        await stage.until(lambda: screen.step is None, "the newest")
        new = fixed_run.stopped_view().checkpoints[-1]
        view = fixed_run.fixed_view(3)
        await stage.becomes(replace(view, checkpoints=(*view.checkpoints, new)))
        assert step_under_cursor(stage) == new.step


async def test_from_no_row_a_move_leads_to_the_oldest() -> None:
    async with Stage(replace(fixed_run.fixed_view(3), skipped=())).opened(160, 45) as stage:
        await stage.pilot.press("4")
        stage.app.screen.post_message(StepChosen(1))
        await stage.until(lambda: step_under_cursor(stage) is None, "no row")
        await stage.pilot.press("enter", "f", "up")
        await stage.until(lambda: step_under_cursor(stage) == 113_700, "the oldest")
