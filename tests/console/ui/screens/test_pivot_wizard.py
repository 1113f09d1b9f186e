"""Journeys through the pivot wizard, with a pivot that is scripted and files that are real."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from console.pivot.wizard_files import Pivots, WizardFiles
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.pivot.policy import Policy
from console.ui.screens.pivot.progress import ProgressScreen
from console.ui.screens.pivot.review import Review
from console.ui.screens.pivot.wizard import WizardScreen
from console.ui.widgets.fields import ConfirmField
from console.view.disk_forecast import Room
from console.view.run_view import RunView
from tests.console import fixed_run
from tests.console.headless import Stage
from tests.console.scripted_pivots import FACTS, WAITING, halted, leave_pivot, make_fixed_run
from tests.console.told import Told
from trainer.rundir.config.policy_change import Bounds
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.pivot.journal import HoldMode
from trainer.rundir.sources.source_size import SourceSize

QUIET = 1.0
"""Longer than the guard, seconds."""
NAME = "andrea-120m"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_fixed_run(tmp_path / NAME)


@asynccontextmanager
async def wizard(
    run: RunDirectory,
    size: tuple[int, int] = (120, 40),
    view: RunView | None = None,
    files_class: type[WizardFiles] = WizardFiles,
) -> AsyncIterator[Stage]:
    """The wizard at its first step, and keys count."""
    async with Stage(view, run=run, files_class=files_class).opened(*size) as stage:
        await stage.pilot.press("p")
        await stage.settle("✓")
        await stage.settle("n next")
        yield stage


async def to_policy(stage: Stage) -> None:
    await stage.pilot.press("n")
    await stage.settle("at first")


async def to_when(stage: Stage) -> None:
    """With the cap of the first arm lowered to 0.5."""
    await to_policy(stage)
    await stage.pilot.press("right", "0", ".", "5", "n")
    await stage.settle("At the next boundary")


async def to_review(stage: Stage) -> None:
    await to_when(stage)
    await stage.pilot.press("n")
    await stage.settle("type the name, then Enter")
    await stage.until(lambda: isinstance(stage.app.focused, ConfirmField), "the field")


async def confirm(stage: Stage) -> None:
    await stage.pilot.press(*NAME)
    stage.hands.monotonic += QUIET
    await stage.pilot.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "the progress")


def files_of(run: RunDirectory) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def policy(stage: Stage) -> Policy:
    return stage.app.screen.query_one(Policy)


async def test_journey_through_all_five_steps(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.until(lambda: "28.4 %" in stage.text(), "today's probability")
        await stage.pilot.press("right", "0", ".", "5", "tab")
        await stage.pilot.press(*"too many books", "ctrl+right")
        await stage.settle("At the next boundary: step 114,000, in about 9 min")
        await stage.pilot.press("down", "n")
        await stage.settle("type the name")
        text = stage.text()
        for fact in (
            "Why: too many books",
            "The step under way is finished",
            "archive/phase_002/: .samples.json (now 38.0 kB)",
            "113,942 records",
            "120,127,488 numbers each",
            "-cap = 1.5",
            "+cap = 0.5",
        ):
            assert fact in text
        await stage.until(lambda: isinstance(stage.app.focused, ConfirmField), "the field")
        await confirm(stage)
        (plan,) = stage.pivots.plans
        assert (plan.mode, plan.change.note) == (HoldMode.NOW, "too many books")
        assert plan.change.bounds == {"stdlib-docs": Bounds(cap=0.5)}
        stage.pivots.tell(WAITING)
        await stage.until(lambda: "now at step 113,950" in stage.text(), "where it is")
        stage.pivots.tell(*FACTS[:3])
        await stage.until(lambda: "✓ 5 settings committed" in stage.text(), "the stages")
        assert "◆ 6 resumed in the new phase" in stage.text()
        stage.pivots.tell(FACTS[3], None)
        await stage.until(lambda: "✓ 6 resumed" in stage.text(), "the end")
        assert "beside 2.6987 at step 114000" in " ".join(stage.text().replace("┃", "").split())
        await stage.settle("Enter choose")
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, Dashboard)
        assert stage.pivots.calls == ["request", "walk"]


@pytest.mark.parametrize("go", [None, to_policy, to_when, to_review])
async def test_escape_at_every_step_changes_nothing(run: RunDirectory, go: object) -> None:
    before = files_of(run)
    async with wizard(run) as stage:
        if callable(go):
            await go(stage)
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)
        assert stage.pivots.calls == []
    assert files_of(run) == before


async def test_enter_turns_no_page_and_says_what_does(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        told = "Enter takes what is typed; n goes on to the next page"
        await stage.pilot.press("enter")
        assert told in stage.text()
        await to_policy(stage)
        assert told not in stage.text()
        await stage.pilot.press("right", *"0.5", "tab", *"why", "enter")
        await stage.until(lambda: "▸ stdlib-docs" in stage.text(), "the arms again")
        assert policy(stage).draft.note == "why"
        await stage.pilot.press("n")
        await stage.settle("At the next boundary")
        await stage.pilot.press("enter")
        assert told in stage.text()
        assert "At the next boundary" in stage.text()


async def test_escape_takes_back_what_is_being_typed_on_every_page(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("right", *"0.5", "tab", *"why", "enter", "tab", *" not", "escape")
        assert policy(stage).draft.note == "why"
        assert "▸ stdlib-docs" in stage.text()
        await stage.pilot.press("n")
        await stage.settle("At the next boundary")
        await stage.pilot.press("n")
        await stage.settle("type the name, then Enter")
        await stage.until(lambda: isinstance(stage.app.focused, ConfirmField), "the field")
        await stage.pilot.press(*"andrea", "escape")
        assert stage.app.screen.query_one(ConfirmField).value == ""
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)


async def test_line_of_keys_tells_what_works_where_the_focus_is(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        assert "digits type" in stage.text()
        await stage.pilot.press("tab")
        await stage.until(lambda: "Ctrl+→ next" in stage.text(), "the keys of the note")
        for words in ("digits type", "x remove", "n next", "b back"):
            assert words not in stage.text()
        await stage.pilot.press("shift+tab", "a")
        await stage.until(lambda: "Esc add none" in stage.text(), "the keys of the form")
        assert "n next" not in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: "digits type" in stage.text(), "the keys of the arms")


async def test_cell_that_digits_would_go_to_is_marked_without_any_colour(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        assert "[0.1]" in stage.text()
        await stage.pilot.press("right")
        assert "[1.5]" in stage.text()
        assert "[0.1]" not in stage.text()
        await stage.pilot.press("x")
        assert "[1.5]" in stage.text(), "of an arm that is removed, too"


async def test_back_keeps_what_was_typed(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        await stage.pilot.press("ctrl+left", "b")
        await stage.settle("at first")
        assert policy(stage).draft.arms[0].cap == "0.5"
        await stage.pilot.press("b")
        await stage.settle("no pivot is under way")
        await stage.pilot.press("b")
        assert isinstance(stage.app.screen, WizardScreen)


async def test_mistakes_are_told_at_their_field_and_hold_the_wizard(run: RunDirectory) -> None:
    async with wizard(run, (80, 24)) as stage:
        await to_policy(stage)
        await stage.pilot.press("n")
        assert "nothing is changed" in stage.text()
        await stage.pilot.press("2")
        lines = stage.text().splitlines()
        row = next(index for index, line in enumerate(lines) if "stdlib-docs" in line)
        assert "✖ floor 2 is above cap 1.5" in lines[row + 1]
        await stage.pilot.press("n")
        assert "at first" in stage.text()
        await stage.pilot.press("backspace", "n")
        assert "floor '' is not a number" in stage.text()
        await stage.pilot.press(*("x", "down") * 5)
        assert "no source is left to train on" in stage.text()
        await stage.pilot.press("n")
        assert "at first" in stage.text()


async def test_all_caps_0_is_told(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press(*("left", "0", "right", "0", "down") * 5, "n")
        assert stage.text().count("every cap is 0, so no arm could be pulled") == 2


async def test_note_stays_when_the_table_is_edited_after_it(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("tab", *"why", "shift+tab", "right", "1", "x", "x")
        assert policy(stage).draft.note == "why"
        assert policy(stage).draft.arms[0].cap == "1"


async def test_keys_typed_at_once_are_taken_in_their_order(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        keys = (("right", None), ("0", "0"), ("full_stop", "."), ("5", "5"), ("down", None))
        for key, character in (*keys, ("2", "2"), ("left", None), ("1", "1")):
            stage.app.post_message(events.Key(key, character))
        for _ in range(3):
            await stage.pilot.pause()
        first, second = policy(stage).draft.arms[:2]
        assert (first.floor, first.cap) == ("0.1", "0.5")
        assert (second.floor, second.cap) == ("1", "2")


async def test_escape_first_takes_back_what_is_being_typed(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("7", "escape")
        assert policy(stage).draft.arms[0].floor == "0.1"
        assert isinstance(stage.app.screen, WizardScreen)


async def test_source_is_added_once_its_text_was_counted(run: RunDirectory) -> None:
    letters = run.path / "letters.txt"
    letters.write_text("Dear sir.\n")
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("a", *"letters", "enter")
        await stage.pilot.press(*"/nowhere/x.txt", "enter")
        await stage.until(lambda: "no such file" in stage.text(), "why not")
        await stage.pilot.press("n")
        assert "at first" in stage.text(), "n is a letter of the path, not the next step"
        await stage.pilot.press("ctrl+u")
        stage.app.post_message(events.Paste(f"{letters}\nq"))
        await stage.pilot.pause()
        await stage.pilot.press("enter")
        await stage.until(lambda: "new: 1 documents, 10 B" in stage.text(), "the count")
        (added,) = [arm for arm in policy(stage).draft.arms if arm.was is None]
        assert (added.name, added.source.path) == ("letters", str(letters))
        await stage.pilot.press("a", *"letters", "enter", *"x", "enter")
        assert "letters is there already" in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: "▸ stdlib-docs" in stage.text(), "the table")
        await stage.pilot.press(*["down"] * 5, "x")
        assert "letters" not in [arm.name for arm in policy(stage).draft.arms]
        assert "▸ chat" in stage.text()


class SlowFiles(WizardFiles):
    """Counts a source when it is let go."""

    def __init__(self, pivots: Pivots, folder: Path) -> None:
        super().__init__(pivots, folder)
        self.go = threading.Event()
        self.counted = 0

    def measure(self, source: SourceSettings) -> SourceSize:
        assert self.go.wait(20)
        self.counted += 1
        return SourceSize(documents=3, text_bytes=30, is_exact=True, tokens=None)


async def counting(stage: Stage, *, times: int) -> SlowFiles:
    """A source named x is being counted, Enter having been pressed so often."""
    await to_policy(stage)
    await stage.pilot.press("a", "x", "enter", *"python:docs", *["enter"] * times)
    await stage.until(lambda: "counting its text" in stage.text(), "the count")
    assert isinstance(stage.files, SlowFiles)
    return stage.files


async def test_enter_again_while_a_source_is_counted_adds_it_once(run: RunDirectory) -> None:
    async with wizard(run, files_class=SlowFiles) as stage:
        files = await counting(stage, times=2)
        files.go.set()
        await stage.until(lambda: "new: 3 documents" in stage.text(), "the arm")
        await stage.until(lambda: files.counted == 2, "the second count")
        await stage.pilot.pause()
        assert [arm.name for arm in policy(stage).draft.arms if arm.was is None] == ["x"]


async def test_source_dropped_while_it_is_counted_is_not_added(run: RunDirectory) -> None:
    async with wizard(run, files_class=SlowFiles) as stage:
        files = await counting(stage, times=1)
        await stage.pilot.press("escape", "a")
        files.go.set()
        await stage.until(lambda: files.counted == 1, "the count")
        await stage.pilot.press("y")
        assert [arm.name for arm in policy(stage).draft.arms if arm.was is None] == []
        assert "▸ name y" in stage.text()


async def test_source_whose_text_is_gone_is_told_at_its_arm(run: RunDirectory) -> None:
    (run.path / "chat.txt").unlink()
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("right", "1", "n")
        await stage.until(lambda: "✖ sources.chat" in stage.text(), "the error")
        lines = stage.text().splitlines()
        row = next(index for index, line in enumerate(lines) if " chat " in line)
        assert "✖ sources.chat" in lines[row + 1]


async def test_failed_precondition_says_what_to_do_and_holds_the_wizard(run: RunDirectory) -> None:
    async with Stage(
        replace(fixed_run.fixed_view(12), room=Room(free_bytes=1000)), run=run
    ).opened() as stage:
        await stage.pilot.press("p")
        await stage.settle("make room")
        await stage.settle("n next")
        await stage.pilot.press("enter", "n")
        assert "mend what is marked with ✖ first (1)" in stage.text()
        await stage.becomes(fixed_run.fixed_view(12))
        await stage.settle("enough for one more")
        await to_policy(stage)


async def test_stopped_run_offers_its_newest_checkpoint(run: RunDirectory) -> None:
    async with wizard(run, view=fixed_run.stopped_view()) as stage:
        await to_policy(stage)
        await stage.pilot.press("1", ".", "1", "n")
        await stage.settle("At the checkpoint of step 113,943")
        for words in ("next boundary", "After the step under way", "trained again"):
            assert words not in stage.text(), "there is nothing to choose"
        await stage.pilot.press("n")
        await stage.settle("The checkpoint of step 113,943 is taken as it is.")
        assert "Training goes on" not in stage.text()
        assert stage.pivots.calls == []


async def test_pasted_name_is_refused(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        for _ in range(2):
            stage.app.post_message(events.Paste(f"{NAME}\n"))
            await stage.pilot.pause()
            assert "a paste is not taken" in stage.text()
            stage.hands.monotonic += QUIET
            await stage.pilot.press("enter")
        assert "that is not the run's name" in stage.text()
        assert stage.pivots.calls == []


async def test_name_and_enter_that_come_as_a_storm_of_keys_confirm_nothing(
    run: RunDirectory,
) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        for _ in range(3):
            await stage.pilot.press("ctrl+u", *NAME, "enter", "enter")
        assert "that came too quickly" in stage.text()
        assert stage.pivots.calls == []
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.pivots.calls, "the request")


async def test_storm_of_keys_from_the_dashboard_on_gets_nowhere(run: RunDirectory) -> None:
    async with Stage(run=run).opened() as stage:
        storm = ("p", "enter", "n", "right", "1", "n", "enter", "n", *NAME, "enter", "y", "enter")
        for _ in range(3):
            await stage.pilot.press(*storm)
        assert isinstance(stage.app.screen, WizardScreen)
        assert stage.app.focused is None
        assert stage.pivots.calls == []


async def test_double_tap_on_next_skips_no_step(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_policy(stage)
        await stage.pilot.press("right", "1", "n")
        await stage.until(lambda: "At the next boundary" in stage.text(), "the next page")
        await stage.pilot.press("n")
        await stage.pilot.pause()
        assert "At the next boundary" in stage.text()
        stage.hands.monotonic += QUIET
        await stage.pilot.press("n")
        await stage.settle("type the name")


async def test_escape_while_the_request_is_written_does_not_lose_the_pivot(
    run: RunDirectory,
) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        stage.pivots.may_request.clear()
        await stage.pilot.press(*NAME)
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.pivots.calls == ["request"], "the request")
        await stage.pilot.press("escape", "ctrl+left")
        stage.pivots.may_request.set()
        await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "the progress")
        await stage.until(lambda: stage.pivots.calls == ["request", "walk"], "the walk")


async def test_wrong_name_and_empty_enter_do_nothing(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        for typed in ("", "andrea", NAME.upper()):
            await stage.pilot.press("ctrl+u", *typed)
            stage.hands.monotonic += QUIET
            await stage.pilot.press("enter")
            assert "that is not the run's name" in stage.text()
        assert stage.pivots.calls == []


async def test_request_that_is_refused_is_told_and_can_be_tried_again(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        stage.pivots.refusal = SettingsError("run.toml: changed [/] meanwhile")
        await stage.pilot.press(*NAME)
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: "changed [/] meanwhile" in stage.text(), "why not")
        assert isinstance(stage.app.screen, WizardScreen)
        assert stage.pivots.plans == []
        stage.pivots.refusal = None
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.pivots.calls == ["request", "request", "walk"], "the walk")
        assert len(stage.pivots.plans) == 1
        assert isinstance(stage.app.screen, ProgressScreen)


async def test_progress_can_be_left_and_shown_again_and_its_end_is_told(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        await confirm(stage)
        stage.pivots.tell(WAITING)
        await stage.settle("waiting for the checkpoint")
        await stage.settle("Enter choose")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)
        stage.pivots.tell(*FACTS[:2])
        await stage.pilot.press("p")
        await stage.settle("✓ 4 sidecars archived")
        await stage.settle("Enter choose")
        await stage.pilot.press("escape")
        stage.pivots.tell(*FACTS[2:], None)
        await stage.until(stage.toasts, "the end")
        assert stage.toasts() == [f"pivot: {FACTS[3].message}"]


async def test_pivot_that_halts_offers_to_continue_and_to_roll_back(run: RunDirectory) -> None:
    async with wizard(run) as stage:
        await to_review(stage)
        await confirm(stage)
        leave_pivot(run, run.settings.read_text().replace("cap = 1.5", "cap = 0.5"))
        stage.pivots.tell(halted("the trainer [ended]; mend it"))
        await stage.settle("the trainer [ended]; mend it")
        assert "✖ 2 checkpoint and audit" in stage.text()
        await stage.settle("Enter choose")
        assert "▸ Continue the pivot" in stage.text()
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.pivots.calls.count("walk") == 2, "the second walk")
        stage.pivots.tell(halted("the disk is full"))
        await stage.settle("the disk is full")
        await stage.settle("Enter choose")
        stage.pivots.back = Told(ok=False, message="a trainer runs; stop it first")
        await stage.pilot.press("down", "enter")
        await stage.settle("a trainer runs; stop it first")
        stage.pivots.back = Told(message="the pivot is taken back")
        await stage.pilot.press("enter")
        await stage.until(stage.toasts, "the outcome")
        assert stage.toasts() == ["the pivot is taken back"]
        assert isinstance(stage.app.screen, Dashboard)


async def test_pivot_left_under_way_is_shown_at_the_start_and_by_p(run: RunDirectory) -> None:
    leave_pivot(run, run.settings.read_text().replace("cap = 1.5", "cap = 0.5"))
    async with Stage(run=run).opened(80, 24) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "the pivot")
        await stage.pilot.press("enter", "enter")
        await stage.settle("Enter choose")
        assert "asked for by" in stage.text()
        for words in ("Continue the pivot", "Roll it back", "the request is withdrawn"):
            assert words in stage.text()
        await stage.pilot.press("escape", "p")
        await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "it again")
        await stage.settle("Enter choose")
        await stage.pilot.press("down", "down", "enter")
        assert isinstance(stage.app.screen, Dashboard)
        assert stage.pivots.calls == []


async def test_pivot_found_at_the_start_and_by_the_wizard_is_shown_once(run: RunDirectory) -> None:
    leave_pivot(run, run.settings.read_text().replace("cap = 1.5", "cap = 0.5"))
    async with Stage(run=run).opened() as stage:
        await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "the pivot")
        found = stage.files.pending()
        assert found is not None
        stage.app.post_message(WizardScreen.PivotFound(found))
        await stage.settle("Enter choose")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)


async def test_read_only_console_opens_no_wizard(run: RunDirectory) -> None:
    async with Stage(run=run, is_read_only=True).opened() as stage:
        await stage.pilot.press("p")
        assert stage.toasts() == ["read-only: nothing is changed from here"]
        assert isinstance(stage.app.screen, Dashboard)


async def test_settings_that_cant_be_read_are_told_in_the_wizard(run: RunDirectory) -> None:
    run.settings.write_text("sources = 3")
    async with Stage(run=run).opened() as stage:
        await stage.pilot.press("p")
        await stage.until(lambda: "run.toml" in stage.text(), "why")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("n")
        assert "run.toml" in stage.text()
        assert "looking" not in stage.text()


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (80, 24), (160, 45)])
async def test_every_step_survives_every_size(run: RunDirectory, size: tuple[int, int]) -> None:
    async with wizard(run) as stage:
        for go in (None, to_policy, to_when, to_review):
            if go is to_when:
                await stage.pilot.press("right", "0", ".", "5", "n")
                await stage.settle("At the next boundary")
            elif go is to_review:
                await stage.pilot.press("n")
                await stage.settle("type the name")
            elif go is not None:
                await go(stage)
            await stage.resize(*size)
            assert stage.text().strip()
            await stage.resize(120, 40)
        assert stage.app.screen.query_one(Review).display
