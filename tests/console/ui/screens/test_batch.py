"""What a step was fed, opened from the chart."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from console.process import batch_text
from console.process.batch_text import batch_text_soon
from console.ui import asking
from console.ui.screens.batch import BatchScreen
from tests.console import fixed_run
from tests.console.headless import Stage
from tests.tiny import make_tiny_run, train_here
from trainer.rundir.batch import Batch, BatchRow, RowDocument
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError

EVIL = "\x1b[2J[red]evil[/red]\n    indented"


def row(number: int, text: str = "some words") -> BatchRow:
    document = RowDocument(file=f"web/\x1b{number}.jsonl", row=1204, document=7, text=text)
    return BatchRow(row=number, source_row=40 + number, seen=1, documents=(document,), tokens=(1,))


class Asked:
    """Answers at once, and remembers."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, bool]] = []

    async def __call__(self, run: RunDirectory, step: int, *, with_losses: bool) -> Batch:
        self.calls.append((step, with_losses))
        if step == fixed_run.STEP - 1:
            raise RunError("the tokens are gone")
        rows = (row(1, EVIL), row(2))
        batch = Batch(step=step, phase=1, arm="web[b]", loss=3.25, rows=rows)
        if not with_losses:
            return batch
        cost = (replace(rows[0], loss_before=2.5), replace(rows[1], loss_before=9.5))
        return replace(batch, rows=cost, before=step - 1, is_proven=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(asking, "batch_text_soon", asked)
    return asked


async def opened(stage: Stage) -> None:
    await stage.pilot.press("1", "enter")
    await stage.until(lambda: "some words" in stage.text() or "evil" in stage.text(), "a text")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_enter_on_the_chart_shows_the_text_of_the_step_as_data(
    asked: Asked, size: tuple[int, int]
) -> None:
    async with Stage(series=fixed_run.fixed_series()).opened(*size) as stage:
        await opened(stage)
        shown = stage.text()
        assert f"Step {fixed_run.STEP:,} was fed by web[b], loss 3.2500" in shown
        assert "[red]evil[/red]" in shown
        assert "    indented" in shown
        assert "\x1b" not in shown
        assert asked.calls == [(fixed_run.STEP, False)]


async def test_losses_are_taken_when_asked_for_and_the_highest_comes_first(asked: Asked) -> None:
    async with Stage(series=fixed_run.fixed_series()).opened() as stage:
        await opened(stage)
        await stage.pilot.press("l")
        await stage.until(lambda: "9.5000" in stage.text(), "the losses")
        lines = [line for line in stage.text().splitlines() if "→" in line and "jsonl" in line]
        assert ["9.5000" in lines[0], "2.5000" in lines[1]] == [True, True]
        assert "proven: put through the checkpoint before" in stage.text()
        assert asked.calls[-1] == (fixed_run.STEP, True)


async def test_arrows_walk_to_other_steps_and_what_cannot_be_drawn_is_told(asked: Asked) -> None:
    async with Stage(series=fixed_run.fixed_series()).opened() as stage:
        await opened(stage)
        await stage.pilot.press("left")
        await stage.until(lambda: "the tokens are gone" in stage.text(), "the reason")
        assert "evil" not in stage.text()
        await stage.pilot.press("left")
        await stage.until(lambda: "evil" in stage.text(), "the step before")
        assert [step for step, _ in asked.calls] == [fixed_run.STEP - n for n in range(3)]
        await stage.pilot.press("escape")
        await stage.until(lambda: not isinstance(stage.app.screen, BatchScreen), "the way back")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = make_tiny_run(tmp_path_factory.mktemp("fed") / "run", total_steps=8, every=4, rules=4)
    train_here(run)
    return run


async def test_a_process_of_its_own_answers(run: RunDirectory) -> None:
    batch = await batch_text_soon(run, 3, with_losses=False)
    assert (batch.step, len(batch.rows)) == (3, 4)
    with pytest.raises(RunError, match="step 9: the history has steps 1 to 8"):
        await batch_text_soon(run, 9, with_losses=False)


async def test_an_answer_that_nobody_waits_for_ends_its_process(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "waits_for_ever.py").write_text(
        "import time\nprint('{}', flush=True)\ntime.sleep(1e6)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(batch_text, "_MODULE", "waits_for_ever")
    started: list[int] = []
    make = asyncio.create_subprocess_exec

    async def noted(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        process = await make(*arguments, **options)  # type: ignore[arg-type]
        started.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    waiting = asyncio.create_task(batch_text_soon(run, 3, with_losses=True))
    while not started:
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
