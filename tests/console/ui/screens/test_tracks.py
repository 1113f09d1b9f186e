"""The choice of the chart's tracks."""

from dataclasses import replace
from pathlib import Path

import pytest

from console.chart.track import Field, Track
from console.fork.branches import Branches
from console.ui import following_fields
from console.ui.screens.tracks import TracksScreen
from console.ui.widgets.loss_chart import LossChart
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


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


def with_fields(path: Path, records: list[dict[str, object]]) -> Stage:
    path.mkdir(exist_ok=True)
    run = RunDirectory(path)
    array = RecordArray(run.loss)
    for record in records:
        array.append(record)
    array.close()
    return Stage(series=fixed_run.fixed_series(), branching=Branches(run))


async def test_a_field_of_the_trainers_own_is_read_when_it_is_marked_and_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following_fields, "LOOK_SECONDS", 0.01)
    last = fixed_run.STEP
    name = "mfu [red]\x1b[31m"
    stage = with_fields(
        tmp_path / "run", [{"step": last - 1, name: 0.4}, {"step": last, name: 0.5}]
    )
    async with stage.opened(160, 45):
        assert stage.app.fields == ()
        await stage.pilot.press("M")
        await stage.until(lambda: "the trainer's own" in stage.text(), "the field")
        assert "[ ] mfu [red]" in stage.text()
        await stage.pilot.press("end", "space", "escape")
        chart = stage.app.screen.query_one(LossChart)
        await stage.until(lambda: chart.data.fields, "what was read")
        await stage.pilot.pause()
        assert chart.look.tracks == (Track.LOSS, Field(name))
        assert "0.5" in next(line for line in stage.text().splitlines() if "mfu [red]" in line)
        assert "\x1b" not in stage.text()
        array = RecordArray(tmp_path / "run" / ".loss.json")
        array.append({"step": last, name: 0.75})
        array.close()
        await stage.until(lambda: chart.data.fields[0].value[-1] == 0.75, "what is new")
        await stage.pilot.press("m")
        await stage.pilot.press("M", "escape")
        await stage.until(lambda: stage.app.fields == (), "nothing is read any more")


async def test_more_fields_than_are_read_at_once_are_refused(tmp_path: Path) -> None:
    stage = with_fields(tmp_path / "run", [{"step": 1, **{f"own {n}": n for n in range(6)}}])
    async with stage.opened(80, 24):
        await stage.pilot.press("M")
        await stage.until(lambda: "own 5" in stage.text(), "the fields")
        await stage.pilot.press("end", *["space", "up"] * 5)
        assert stage.text().count("[x] own") == 4
        assert "4 of the trainer's own fields are the most" in stage.text()
