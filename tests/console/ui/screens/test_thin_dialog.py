"""The key that thins: what it shows, and that nothing goes unless that was chosen."""

import threading
from pathlib import Path

import orjson
import pytest

from console.cli import main
from console.operations.operations import Operations, Outcome
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.thin_dialog import ThinDialog
from console.ui.widgets.choices import Choices
from tests.console.headless import Stage
from tests.console.told import Told
from trainer.rundir.checkpoints.checkpoint import Checkpoint, list_checkpoints, write_checkpoint
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.layout import RunDirectory


def plan_of(n_going: int) -> Plan:
    going = tuple(
        Checkpoint(path=Path(f"step_{step:06d}.bin"), step=step, n_bytes=1_440_000_000, modified=0)
        for step in range(100, 100 * (n_going + 1), 100)
    )
    return Plan(kept={50: "the best val_loss", 100_000_000: "the newest"}, going=going)


async def open_dialog(stage: Stage, n_going: int = 1_900) -> None:
    """And wait until keys count."""
    stage.operations.plan = plan_of(n_going)
    await stage.pilot.press("4", "t")
    await stage.until(lambda: isinstance(stage.app.screen, ThinDialog), "the dialog")
    await stage.settle("Enter choose")


async def test_dialog_says_what_goes_how_much_that_frees_and_why_others_stay() -> None:
    async with Stage().opened(80, 24) as stage:
        await open_dialog(stage)
        text = stage.text()
        assert "1,900 of 1,902 checkpoints would go, which frees 2.74 TB" in text
        assert "stays  the newest" in text
        assert "goes   1.44 GB" in text
        assert "▸ Cancel" in text
        for _ in range(200):
            await stage.pilot.press("pagedown")
        assert "stays  the best val_loss" in stage.text()


async def test_enter_at_once_is_cancel_and_deletes_nothing() -> None:
    async with Stage().opened() as stage:
        await open_dialog(stage)
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, Dashboard)
    assert stage.operations.calls == ["preview"]


async def test_only_the_marked_deletion_deletes_and_the_result_is_told() -> None:
    async with Stage().opened() as stage:
        stage.operations.outcome = Told(message="1,900 checkpoints deleted, 2.74 TB freed")
        await open_dialog(stage)
        await stage.pilot.press("down", "enter")
        await stage.until(stage.toasts, "the result")
        assert stage.toasts() == ["1,900 checkpoints deleted, 2.74 TB freed"]
        assert isinstance(stage.app.screen, Dashboard)
    assert stage.operations.calls == ["preview", "thin"]


async def test_a_deletion_that_can_not_be_seen_is_not_made() -> None:
    async with Stage().opened() as stage:
        await open_dialog(stage)
        await stage.resize(40, 6)
        await stage.pilot.press("down", "enter")
        assert isinstance(stage.app.screen, ThinDialog)
        assert "too small to show what would be chosen" in stage.toasts()[-1]
    assert stage.operations.calls == ["preview"]


async def test_keys_typed_ahead_of_the_dialog_answer_nothing() -> None:
    async with Stage().opened() as stage:
        stage.operations.plan = plan_of(3)
        await stage.pilot.press("4", "t")
        await stage.until(lambda: isinstance(stage.app.screen, ThinDialog), "the dialog")
        await stage.pilot.press("down", "enter", "down", "enter", "escape")
        assert isinstance(stage.app.screen, ThinDialog)
        assert "▸" not in stage.text()
        assert stage.app.screen.query_one(Choices).marked == "cancel"
    assert stage.operations.calls == ["preview"]


async def test_console_stays_alive_while_files_are_deleted() -> None:
    is_done = threading.Event()
    async with Stage().opened() as stage:
        stage.operations.then = lambda name: None if name != "thin" else _wait(is_done)
        await open_dialog(stage)
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: "thin" in stage.operations.calls, "the deletion")
        await stage.pilot.press("1")
        assert stage.app.focused is stage.app.screen.query_one("#loss")
        assert stage.toasts() == []
        is_done.set()
        await stage.until(stage.toasts, "the result")


def _wait(event: threading.Event) -> None:
    assert event.wait(20)


async def test_why_nothing_can_go_is_told_without_a_dialog() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("4", "t")
        await stage.until(stage.toasts, "why not")
        assert stage.toasts() == ["thin: all are kept"]
        assert isinstance(stage.app.screen, Dashboard)


async def test_read_only_refuses_to_thin() -> None:
    async with Stage(is_read_only=True).opened() as stage:
        await stage.pilot.press("4", "t")
        assert stage.toasts() == ["read-only: nothing is changed from here"]
    assert stage.operations.calls == []


@pytest.fixture
def thinnable(tmp_path: Path) -> RunDirectory:
    """Ten checkpoints, of which the last two and the multiples of 500 stay."""
    run = RunDirectory(tmp_path)
    run.settings.write_text(
        "[model]\nvocab_size = 300\ncontext = 4\nlayers = 1\nheads = 1\nwidth = 4\n"
        "[train]\nbatch_tokens = 32\n[checkpoint]\nkeep_last = 2\nkeep_every = 500\n"
        '[trainer]\ncommand = ["other"]\n'
    )
    run.loss.write_text(
        '[\n{"step": 1},\n{"step": 350, "loss": null, "nonfinite": {"loss": "NaN"}},\n'
        '{"step": 1000}\n]\n'
    )
    for step in range(100, 1_100, 100):
        write_checkpoint(tmp_path, step, [memoryview(bytearray(4))] * 3)
    return run


def steps_of(run: RunDirectory) -> list[int]:
    return [found.step for found in list_checkpoints(run.path, None).checkpoints]


def test_thinning_leaves_one_line_that_names_the_files(thinnable: RunDirectory) -> None:
    operations = Operations(thinnable)
    plan = operations.preview_thinning()
    assert isinstance(plan, Plan)
    assert plan.kept[300] == "the last before a loss or gradient that was not finite"
    assert not thinnable.actions.exists()
    assert operations.thin(plan).message == "6 checkpoints deleted, 120 B freed"
    assert steps_of(thinnable) == [300, 500, 900, 1_000]
    (line,) = thinnable.actions.read_bytes().splitlines()
    action = orjson.loads(line)
    assert (action["action"], action["ok"]) == ("thin", True)
    assert action["files"][0] == "step_000100.bin"


def test_what_a_fork_stands_on_since_the_preview_stays(thinnable: RunDirectory) -> None:
    operations = Operations(thinnable)
    plan = operations.preview_thinning()
    assert isinstance(plan, Plan)
    thinnable.fork.write_text('{"parent": "x", "step": 200}')
    assert operations.thin(plan).ok
    assert 200 in steps_of(thinnable)


def test_run_that_keeps_all_says_how_to_thin_it_anyway(thinnable: RunDirectory) -> None:
    text = thinnable.settings.read_text().replace("keep_last = 2", "keep_last = 0")
    thinnable.settings.write_text(text)
    told = Operations(thinnable).preview_thinning()
    assert isinstance(told, Outcome)
    assert "--keep-last N" in told.message


def test_a_pinned_checkpoint_is_kept_by_dialog_and_verb_and_unpinned_it_goes(
    thinnable: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    operations = Operations(thinnable)
    before = operations.preview_thinning()
    assert isinstance(before, Plan)
    assert operations.pin((200,), "b\x1bad").message == "step 200 pinned: b\\x1bad"
    assert operations.pin((400, 600)).message == "2 checkpoints pinned"
    assert operations.pin((200,)).ok
    assert operations.thin(before).ok
    assert {200, 400, 600} < set(steps_of(thinnable))
    assert main(["thin", str(thinnable.path), "--keep-last", "1", "--yes"]) == 0
    assert {200, 400, 600} < set(steps_of(thinnable))
    assert main(["pin", str(thinnable.path)]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == ["200\tb\\x1bad", "400", "600"]
    told = operations.unpin((200, 300)).message
    assert told == "step 200 unpinned (its note was: b\\x1bad)"
    assert main(["thin", str(thinnable.path), "--yes"]) == 0
    assert 200 not in steps_of(thinnable)


def test_what_can_not_be_pinned_is_refused_in_words_and_nothing_is_written(
    thinnable: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, words in (
        (["250"], "no checkpoint of step 250; the nearest is 200"),
        (["200", "--remove"], "step 200: not pinned"),
        (["200", "--note", "n" * 5_000], "a note has less than"),
    ):
        assert main(["pin", str(thinnable.path), *arguments]) == 1
        assert words in capsys.readouterr().err
    assert main(["pin", str(thinnable.path), "--remove"]) == 2
    assert Operations(thinnable, read_only=True).pin((200,)).message == (
        "pin: this console is read-only"
    )
    assert not thinnable.pins.exists()


def test_pins_that_can_not_be_read_stop_every_thinning_and_say_so(
    thinnable: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    operations = Operations(thinnable)
    before = operations.preview_thinning()
    assert isinstance(before, Plan)
    all_of_them = steps_of(thinnable)
    thinnable.pins.write_text("")
    for outcome in (operations.preview_thinning(), operations.thin(before), operations.pin((200,))):
        assert isinstance(outcome, Outcome)
        assert not outcome.ok
        assert str(thinnable.pins) in outcome.message
    assert main(["thin", str(thinnable.path), "--yes"]) == 2
    assert "the pins can't be read" in capsys.readouterr().err
    assert steps_of(thinnable) == all_of_them


def test_marked_ones_go_whatever_the_settings_keep_but_not_what_something_stands_on(
    thinnable: RunDirectory,
) -> None:
    operations = Operations(thinnable)
    operations.pin((200,))
    plan = operations.preview_thinning((100, 200, 300, 500, 900, 1_000))
    assert isinstance(plan, Plan)
    assert [checkpoint.step for checkpoint in plan.going] == [100, 500, 900]
    assert plan.kept.keys() == {200, 300, 1_000}
    told = operations.preview_thinning((200, 1_000))
    assert isinstance(told, Outcome)
    assert told.message == (
        "thin: nothing to delete; all 2 checkpoints have to stay: pinned; the newest"
    )
