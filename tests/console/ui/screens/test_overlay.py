"""Other runs laid over the chart, chosen with a key and followed."""

from pathlib import Path

import pytest

from console.fork.branches import Branches
from console.ui import overlaying
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.overlay import OverlayScreen
from console.ui.widgets.loss_chart import LossChart
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray

LAST = fixed_run.STEP


def write(path: Path, steps: range, ema: float) -> RunDirectory:
    path.mkdir(exist_ok=True)
    run = RunDirectory(path)
    array = RecordArray(run.loss)
    array.pending += [b'{"step":%d,"loss":%g,"ema":%g}' % (s, ema, ema) for s in steps]
    array.flush()
    array.close()
    return run


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(overlaying, "LOOK_SECONDS", 0.01)
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    for name, ema in (("fork-\x1b[31mred[b]", 3.25), ("other", 3.5)):
        write(tmp_path / name, range(LAST - 1000, LAST + 1), ema)
    return Stage(series=fixed_run.fixed_series(), branching=Branches(run))


def chart(stage: Stage) -> LossChart:
    return stage.app.screen.query_one(LossChart)


async def laid_over(stage: Stage, count: int) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, Dashboard), "the dashboard")

    def is_read() -> bool:
        others = chart(stage).data.others
        return len(others) == count and all(len(each.series) for each in others)

    await stage.until(is_read, f"{count} laid over")
    await stage.pilot.pause()


async def listed(stage: Stage) -> None:
    await stage.pilot.press("o")
    await stage.until(lambda: "to step" in stage.text(), "the runs")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_run_that_is_chosen_is_drawn_with_its_name_and_difference_until_o(
    stage: Stage, size: tuple[int, int]
) -> None:
    async with stage.opened(*size):
        await listed(stage)
        assert "[ ] fork-" in stage.text()
        assert "\x1b" not in stage.text()
        await stage.pilot.press("enter")
        await laid_over(stage, 1)
        assert "other - this" in stage.text()
        name = chart(stage).data.others[0].name
        assert name in ("fork-\x1b[31mred[b]", "other")
        await stage.pilot.press("o")
        await laid_over(stage, 0)
        assert "other - this" not in stage.text()


async def test_several_are_marked_and_escape_takes_the_cursor_then_them_away(stage: Stage) -> None:
    async with stage.opened(160, 45):
        await listed(stage)
        await stage.pilot.press("space", "down", "space", "enter")
        await laid_over(stage, 2)
        await stage.pilot.press("left", "escape")
        assert chart(stage).look.cursor is None
        assert len(chart(stage).data.others) == 2
        await stage.pilot.press("escape")
        await laid_over(stage, 0)


async def test_a_path_that_is_typed_is_taken_from_beside_the_run(stage: Stage) -> None:
    async with stage.opened(80, 24):
        await listed(stage)
        await stage.pilot.press("tab", *"other", "enter")
        await laid_over(stage, 1)
        assert chart(stage).data.others[0].name == "other"


async def test_a_path_without_a_run_is_told_and_nothing_laid_over(stage: Stage) -> None:
    async with stage.opened(80, 24):
        await listed(stage)
        await stage.pilot.press("tab", *"nowhere", "enter")
        await stage.until(
            lambda: "nowhere is not laid over: No such file or directory" in stage.toasts(),
            "the words",
        )
        await laid_over(stage, 0)


async def test_what_the_other_run_writes_is_drawn_and_one_that_moves_is_dropped(
    stage: Stage, tmp_path: Path
) -> None:
    async with stage.opened(80, 24):
        await listed(stage)
        await stage.pilot.press("tab", *"other", "enter")
        await laid_over(stage, 1)
        write(tmp_path / "other", range(LAST + 1, LAST + 3), 3.5)

        def newest() -> int:
            return int(chart(stage).data.others[0].series.step[-1])

        await stage.until(lambda: newest() == LAST + 2, "what is new")
        (tmp_path / "other").rename(tmp_path / "gone")
        await laid_over(stage, 0)
        # A move in the middle of a look is told as the history that isn't there.
        assert any(told.startswith("other is not laid over: ") for told in stage.toasts())


async def test_leaving_the_list_changes_nothing_and_no_run_beside_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "run").mkdir()
    alone = Stage(branching=Branches(RunDirectory(tmp_path / "run")))
    async with alone.opened(80, 24):
        await alone.pilot.press("o")
        await alone.until(lambda: "no other run lies beside" in alone.text(), "the words")
        await alone.pilot.press("enter", "space")
        assert isinstance(alone.app.screen, OverlayScreen)
        await alone.pilot.press("escape")
        await laid_over(alone, 0)
