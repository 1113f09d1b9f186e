"""The list of checkpoints: lazy, ordered, named."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content

from console.fork.branches import Branches
from console.operations.actions import READ_ONLY
from console.ui.messages import StepChosen
from console.ui.screens.dashboard import PANES, Dashboard
from console.ui.widgets import checkpoints
from console.ui.widgets.checkpoint_lines import row_content
from console.ui.widgets.checkpoint_list import merged_rows
from console.ui.widgets.checkpoints import CheckpointsPane
from console.view.run_view import CheckpointRow, RunView
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.layout import RunDirectory


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


def rows_in(stage: Stage) -> list[int]:
    pane = stage.app.screen.query_one(CheckpointsPane)
    return [row.step for row in pane._list.rows if not isinstance(row, Skipped)]


def planned_view(n: int = 6) -> RunView:
    """Pinned, kept and going in turn; the causes differ."""
    view = fixed_run.fixed_view(n)
    plain: dict[str, Any] = {"goes": False, "stays": "", "note": None}
    changes: tuple[dict[str, Any], ...] = (
        {"note": "before [/] the\x1b[2J spike", "stays": "pinned"},
        {"goes": True},
        {"stays": "the best val_loss", "cause": "signal"},
    )
    rows = (replace(row, **(plain | changes[at % 3])) for at, row in enumerate(view.checkpoints))
    return replace(view, checkpoints=tuple(rows), skipped=())


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_what_thinning_would_do_is_a_column_and_a_note_is_harmless(
    size: tuple[int, int],
) -> None:
    async with Stage(planned_view()).opened(*size) as stage:
        await stage.pilot.press("4")
        assert "pinned: before" in stage.text()
        assert "  goes" in stage.text()
        assert "  best val_loss" in stage.text()
        assert "\x1b" not in stage.text()


async def test_sorting_puts_the_best_first_and_chooses_it() -> None:
    view = planned_view()
    async with Stage(view).opened(160, 45) as stage:
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.press("4", "s")
        scores = {row.step: row.audit.score or 0.0 for row in view.checkpoints if row.audit}
        best = sorted(scores, key=lambda step: (-scores[step], -step))
        assert rows_in(stage) == best
        assert "by score" in stage.text()
        await stage.until(lambda: screen.step == best[0], "the best")
        await stage.pilot.press("s", "s", "s")
        assert rows_in(stage) == sorted(scores, reverse=True)
        await stage.until(lambda: screen.step is None, "the newest")


async def test_filters_show_a_kind_a_range_or_a_word_and_esc_shows_all_again() -> None:
    async with Stage(planned_view()).opened(160, 45) as stage:
        everyone = rows_in(stage)
        await stage.pilot.press("4", "F")
        assert rows_in(stage) == [113_700, 113_400]
        assert "pinned · 2 of them" in stage.text()
        await stage.pilot.press("F")
        assert rows_in(stage) == [113_800, 113_500]
        await stage.pilot.press("escape")
        assert rows_in(stage) == everyone
        await stage.pilot.press("slash", *"113500-113700", "enter")
        assert rows_in(stage) == [113_700, 113_600, 113_500]
        await stage.pilot.press("slash", *"nothing[/]", "enter")
        assert "none of them is like that" in stage.text()
        await stage.pilot.press("P", "n", "f", "space", "enter", "down", "escape")
        assert rows_in(stage) == everyone
        assert stage.operations.calls == []


async def test_p_pins_and_unpins_the_one_under_the_cursor_and_n_types_its_note() -> None:
    async with Stage(planned_view()).opened(80, 24) as stage:
        await stage.pilot.press("4", "P")
        await stage.until(lambda: stage.operations.calls, "the pin")
        await stage.pilot.press("down", "down", "P")
        await stage.until(lambda: len(stage.operations.calls) == 2, "the unpin")
        await stage.pilot.press("n")
        await stage.until(lambda: "a note on step 113,700" in stage.text(), "the prompt")
        await stage.pilot.press(*" two", "enter")
        await stage.until(lambda: len(stage.operations.calls) == 3, "the note")
        assert stage.operations.calls[:2] == ["pin [113900] None", "unpin [113700]"]
        assert stage.operations.calls[2].endswith("spike two")
        await stage.pilot.press("n", "escape")
        await stage.until(lambda: "a note on" not in stage.text(), "the end of the prompt")
        assert len(stage.operations.calls) == 3


async def test_what_is_done_is_done_to_the_marked_and_marks_of_what_is_gone_go() -> None:
    view = planned_view()
    async with Stage(view).opened(160, 45) as stage:
        await stage.pilot.press("4", "space", "down", "down", "space", "down", "P")
        await stage.until(lambda: stage.operations.calls, "the pin")
        assert stage.operations.calls == ["pin [113700, 113900] None"]
        assert "2 marked" in stage.text()
        await stage.pilot.press("t")
        await stage.until(lambda: len(stage.operations.calls) == 2, "the preview")
        assert stage.operations.calls[1] == "preview 113700 113900"
        await stage.becomes(replace(view, checkpoints=view.checkpoints[:-1]))
        assert "1 marked" in stage.text()
        await stage.pilot.press("escape")
        assert "marked" not in stage.text()


async def test_two_marked_are_put_side_by_side_and_one_marked_with_the_one_here() -> None:
    async with Stage(planned_view()).opened(160, 45) as stage:
        await stage.pilot.press("4", "end", "space", "home", "down", "enter")
        await stage.until(lambda: "Sample audits" in stage.text(), "the comparison")
        assert "step 113,400  step 113,800" in stage.text()
        await stage.pilot.press("left")
        await stage.until(
            lambda: "step 113,400  step 113,700" in stage.text(), "another beside the same"
        )
        await stage.pilot.press("escape")
        await stage.until(lambda: "Sample audits" not in stage.text(), "the dashboard")
        await stage.pilot.press("down", "space", "home", "enter")
        await stage.until(lambda: "step 113,400  step 113,700" in stage.text(), "the marked")
        await stage.pilot.press("escape")
        await stage.pilot.press("home", "space", "enter")
        assert stage.toasts() == ["mark two to compare them; Esc takes the marks away"]


async def test_read_only_pins_nothing() -> None:
    async with Stage(planned_view(), is_read_only=True).opened(160, 45) as stage:
        await stage.pilot.press("4", "P", "n", "space", "t")
        assert stage.operations.calls == []
        assert set(stage.toasts()) == {READ_ONLY}


async def test_g_shows_the_tree_and_enter_goes_to_a_step_of_this_run(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "andrea-120m")
    run.path.mkdir()
    child = tmp_path / "child\x1b[2J"
    child.mkdir()
    (child / "fork.json").write_text('{"parent": "andrea-120m", "step": 113500}')
    stage = Stage(planned_view(), is_read_only=True, branching=Branches(run))
    async with stage.opened(80, 24):
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.press("4", "g")
        await stage.until(lambda: "this run" in stage.text(), "the tree")
        assert "113,500  └─ child\\x1b[2J, at step –" in stage.text()
        await stage.pilot.press("enter", "down", "enter")
        await stage.until(lambda: screen.step == 113_500, "the step")
        assert step_under_cursor(stage) == 113_500


async def test_the_titles_stay_while_the_rows_scroll_and_the_cursor_is_never_under_them() -> None:
    async with Stage(fixed_run.fixed_view(100)).opened(160, 45) as stage:
        await stage.pilot.press("4", "z", *["pagedown"] * 3, *["up"] * 45)
        pane = stage.app.screen.query_one(CheckpointsPane)
        titles, *rows = (pane.render_line(row).text for row in range(pane.rows_in_sight))
        assert pane.scroll_offset.y > 0
        assert "score" in titles
        row = pane.row_here
        assert isinstance(row, CheckpointRow)
        assert f"{row.step:,}" in rows[0]


async def test_a_click_chooses_a_checkpoint_and_the_tabs_choose_panes() -> None:
    async with Stage(fixed_run.fixed_view(100)).opened(80, 24) as stage:
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.click("#tabs", offset=(23, 0))
        assert PANES[screen.chosen] == "bandit"
        await stage.pilot.click("#tabs", offset=(35, 0))
        assert PANES[screen.chosen] == "checkpoints"
        pane = screen.query_one(CheckpointsPane)
        await stage.pilot.press("end")
        lines = [pane.render_line(row).text for row in range(pane.rows_in_sight)]
        await stage.pilot.click(pane, offset=(5, 3))  # the border is the first row
        row = pane.row_here
        assert isinstance(row, CheckpointRow)
        assert f"{row.step:,}" in lines[2]
        assert screen.step == row.step
        await stage.pilot.click(pane, offset=(5, 1))
        assert pane.row_here is row, "the titles are no row"


async def test_a_click_into_a_pane_chooses_it() -> None:
    async with Stage(fixed_run.fixed_view(10)).opened(160, 45) as stage:
        screen = stage.app.screen
        assert isinstance(screen, Dashboard)
        await stage.pilot.click("#log", offset=(10, 2))
        assert PANES[screen.chosen] == "log"
