"""Journeys of an operator through the console, without a terminal."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget

from console.operations.actions import ACTIONS
from console.ui.screens.comparison import ComparisonScreen
from console.ui.screens.dashboard import PANES, Dashboard
from console.ui.screens.help import HelpScreen
from console.ui.screens.pivot.wizard import WizardScreen
from console.ui.screens.quit_dialog import QuitDialog
from console.ui.widgets.header import Header
from console.ui.widgets.line_view import LineView
from console.ui.widgets.loss_chart import LossChart
from console.view.run_view import LossPoint, Request, RequestStage, RunView, Severity, Status
from tests.console import fixed_run
from tests.console.headless import Stage
from tests.console.told import Told

QUIET = 1.0
"""Longer than the dialog's guard, seconds."""


def keys_in_sight(stage: Stage) -> set[str]:
    line = stage.text().splitlines()[-1].strip()
    return {key.strip() for key in line.replace(" …", "  …").split("  ")}


async def test_everything_that_matters_is_in_sight_at_80_columns() -> None:
    async with Stage().opened(80, 24) as stage:
        text = stage.text()
    for fact in ("andrea-120m", "● training", "113,942 / 200,000", "ETA", "6.0/min", "2.7026"):
        assert fact in text
    for fact in ("EMA 2.8135", "113,900, 7 min ago", "612 GB", "phase 2", "━"):
        assert fact in text


@pytest.mark.parametrize("view", [fixed_run.fixed_view(12), fixed_run.stopped_view()])
async def test_all_keys_are_in_sight_at_80_columns_on_every_pane(view: RunView) -> None:
    own = [
        ["← cursor", "+ zoom", "m track"],
        ["← older", "b parts", "/ search"],
        ["b data"],
        ["f fork", "t thin"],
        ["/ search", "L level", "F follow"],
    ]
    first = "c checkpoint" if view.is_running else "r resume"
    async with Stage(view).opened(80, 24) as stage:
        for number, keys in enumerate(own, start=1):
            await stage.pilot.press(str(number))
            await stage.pilot.pause()
            assert {first, "p pivot", "q quit", "? help", *keys} <= keys_in_sight(stage)


async def test_on_a_narrow_terminal_the_last_keys_go_whole_and_help_stays() -> None:
    def fits(keys: set[str]) -> bool:
        return "…" in keys and {"c checkpoint", "? help"} <= keys - {"…"} < all_keys

    async with Stage().opened(200, 24) as stage:
        await stage.pilot.press("4")
        await stage.until(lambda: "f fork" in stage.text(), "the keys of the checkpoints")
        all_keys = keys_in_sight(stage)
        assert "…" not in all_keys
        for width in (70, 60, 50, 40, 30):
            await stage.resize(width, 24)
            await stage.until(lambda: fits(keys_in_sight(stage)), "whole keys, … for the others")


SIZES = ((160, 45, True), (160, 24, False), (80, 45, False), (120, 30, True))


def is_zoom_shown(stage: Stage, is_offered: bool) -> bool:
    return ("z zoom" in stage.text()) is is_offered


async def test_zoom_is_offered_only_where_all_panes_have_room() -> None:
    async with Stage().opened(160, 45) as stage:
        for width, height, is_offered in SIZES:
            await stage.resize(width, height)
            shown = functools.partial(is_zoom_shown, stage, is_offered)
            await stage.until(shown, f"z zoom at {width}x{height}: {is_offered}")


async def test_a_new_view_is_drawn_when_the_run_changed() -> None:
    async with Stage().opened() as stage:
        await stage.becomes(replace(stage.follower.view, step=113_950))
        assert "113,950" in stage.text()


async def test_nothing_is_drawn_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stage(series=fixed_run.fixed_series()).opened(160, 45) as stage:
        drawn: list[object] = []
        monkeypatch.setattr(type(stage.app), "_display", lambda *args: drawn.append(args))
        stage.follower.view = replace(stage.follower.view)
        for _ in range(3):
            await stage.wake()
        assert drawn == []
        await stage.becomes(replace(stage.follower.view, step=113_950))
        assert drawn


async def test_what_looks_the_same_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step changes the header and the chart; the panes beside them stay."""
    async with Stage().opened(160, 45) as stage:
        rendered: list[str] = []
        render = LineView.render_line

        def recorded(view: LineView, y: int) -> object:
            rendered.append(str(view.id))
            return render(view, y)

        monkeypatch.setattr(LineView, "render_line", recorded)
        room = replace(stage.follower.view.room, free_bytes=611_900_000_000)
        await stage.becomes(replace(stage.follower.view, step=113_950, room=room))
        assert rendered == []


async def test_ages_move_with_the_minute_though_the_run_stands_still() -> None:
    async with Stage().opened() as stage:
        stage.hands.wall += 3600
        await stage.wake()
        assert "1 h 07 ago" in stage.text()


async def test_c_asks_for_a_checkpoint_at_once_and_the_answer_is_told() -> None:
    requested = Request(stage=RequestStage.REQUESTED, message="checkpoint requested")
    async with Stage().opened() as stage:
        view = stage.follower.view

        def request(_: str) -> None:
            stage.follower.view = replace(view, request=requested)

        stage.operations.then = request
        await stage.pilot.press("c")
        await stage.until(lambda: "◆ checkpoint requested" in stage.text(), "the request")
        assert stage.operations.calls == ["checkpoint"]
        written = Request(stage=RequestStage.WRITTEN, message="step 113,943 written: 1.44 GB")
        await stage.becomes(replace(view, request=written))
        assert "◆ checkpoint requested" not in stage.text()
        assert stage.toasts() == ["step 113,943 written: 1.44 GB"]


async def test_c_three_times_shows_one_request() -> None:
    requested = Request(stage=RequestStage.REQUESTED, message="checkpoint requested")
    async with Stage().opened() as stage:
        view = stage.follower.view

        def request(_: str) -> None:
            stage.follower.view = replace(view, request=requested)

        stage.operations.then = request
        await stage.pilot.press("c", "c", "c")
        await stage.until(lambda: len(stage.operations.calls) == 3, "the operations")
        await stage.until(lambda: not stage.operations_under_way(), "their ends")
        assert stage.text().count("checkpoint requested") == 1
        assert stage.toasts() == []


async def test_a_checkpoint_that_could_not_be_asked_for_is_told() -> None:
    async with Stage().opened() as stage:
        stage.operations.outcome = Told(ok=False, message="checkpoint: the trainer [/] is starting")
        await stage.pilot.press("c")
        await stage.until(stage.toasts, "why not")
        assert stage.toasts() == ["checkpoint: the trainer [/] is starting"]


async def test_d_leaves_and_touches_nothing() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("d")
    assert stage.operations.calls == []
    assert stage.app.return_value is not None
    assert "training goes on (pid 4242)" in stage.app.return_value


async def test_ctrl_c_leaves_from_wherever_and_touches_nothing() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("q", "ctrl+c")
    assert stage.operations.calls == []
    assert "training goes on" in (stage.app.return_value or "")


async def test_key_that_does_nothing_says_where_the_keys_are_told_once_for_a_storm() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("f5", *"uvw", "f6")
        assert stage.toasts() == ["f5 does nothing here; ? shows all keys"]
        stage.hands.monotonic += 10
        await stage.pilot.press("1", "z", "z")
        assert len(stage.toasts()) == 1, "keys that do something are not told of"
        await stage.pilot.press("4", "enter", "w")
        await stage.until(lambda: len(stage.toasts()) > 1, "what is told of w")
        assert stage.toasts()[1:] == ["w does nothing here; ? shows all keys"]


async def test_q_q_and_enter_in_one_go_end_nothing() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("q", "q", "enter", "enter", "escape")
        assert isinstance(stage.app.screen, QuitDialog)
        assert stage.operations.calls == []


async def test_keys_without_end_never_answer_the_dialog() -> None:
    """Each key that is ignored starts the quiet anew: a long paste as plain keys is harmless."""
    async with Stage().opened() as stage:
        await stage.pilot.press("q")
        for _ in range(20):
            stage.hands.monotonic += 0.3
            await stage.pilot.press("x", "enter")
        assert isinstance(stage.app.screen, QuitDialog)
        assert stage.operations.calls == []


async def test_a_bracketed_paste_presses_no_key() -> None:
    async with Stage().opened() as stage:
        stage.app.post_message(events.Paste("cpq\r\rd"))
        await stage.pilot.pause()
        assert stage.operations.calls == []
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        stage.app.post_message(events.Paste("\r\r"))
        await stage.pilot.pause()
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, QuitDialog)
        assert stage.operations.calls == []


async def test_a_paste_of_cpq_as_plain_keys_ends_nothing() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("c", "p", "q", "enter")
        assert isinstance(stage.app.screen, WizardScreen)
        await stage.until(lambda: stage.operations.calls, "the checkpoint, which harms nothing")
        assert stage.operations.calls == ["checkpoint"]


async def test_q_enter_stops_shows_the_save_and_leaves_with_the_last_words() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.operations.calls, "the stop")
        assert stage.operations.calls == ["stop"]
        await stage.becomes(fixed_run.stopping_view())
        assert "saving" in stage.text()
        assert "writing step_113943.bin" in stage.text()
        await stage.becomes(replace(fixed_run.stopped_view(), is_running=True))
        assert "✓ step_113943.bin written, 1.44 GB" in stage.text()
        stage.follower.view = fixed_run.stopped_view()
        stage.report_change()
        await stage.until(lambda: stage.app._exit, "the end")
    assert stage.app.return_value == (
        "andrea-120m: stopped at step 113,943; step_113943.bin, 1.44 GB\n"
        "resume with: andrea-console runs/v3 --launch"
    )


@pytest.mark.parametrize("size", [(20, 5), (80, 4), (14, 6)], ids=str)
async def test_a_choice_that_can_not_be_seen_is_not_made(size: tuple[int, int]) -> None:
    async with Stage().opened(*size) as stage:
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("down", "up", "enter")
        assert isinstance(stage.app.screen, QuitDialog)
        assert "too small to show what would be chosen" in stage.toasts()[-1]
        await stage.resize(80, 24)
        stage.hands.monotonic += QUIET
        await stage.pilot.press("escape")
        assert "Leave this run?" not in stage.text()
    assert stage.operations.calls == []


@pytest.mark.parametrize("height", [11, 15, 16, 24])
async def test_a_low_terminal_shows_the_whole_quit_dialog(height: int) -> None:
    async with Stage().opened(80, height) as stage:
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("down", "down", "enter")
        assert not isinstance(stage.app.screen, QuitDialog), "Cancel was in sight"
    assert stage.operations.calls == []


async def test_a_double_enter_doesnt_also_leave_while_it_stops() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter", "enter", "enter")
        assert isinstance(stage.app.screen, QuitDialog)
        assert "Detach now" in stage.text()
        await stage.until(lambda: not stage.operations_under_way(), "the stop that was asked for")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
    assert stage.operations.calls == ["stop"]
    assert "stopping at step 113,942; the trainer ends by" in (stage.app.return_value or "")


async def test_a_stop_that_was_refused_is_told_in_the_dialog() -> None:
    async with Stage().opened() as stage:
        stage.operations.outcome = Told(ok=False, message="stop: held from another machine")
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("enter")
        await stage.until(lambda: "held from another machine" in stage.text(), "the reason")
        assert "Stop training gracefully" in stage.text()


async def test_the_second_choice_detaches_and_the_third_and_escape_cancel() -> None:
    async with Stage().opened() as stage:
        for keys in (("up", "enter"), ("down", "down", "enter"), ("escape",)):
            await stage.pilot.press("q")
            stage.hands.monotonic += QUIET
            await stage.pilot.press(*keys)
            assert isinstance(stage.app.screen, Dashboard)
        await stage.pilot.press("q")
        stage.hands.monotonic += QUIET
        await stage.pilot.press("down", "enter")
    assert stage.operations.calls == []
    assert "training goes on" in (stage.app.return_value or "")


async def test_the_dialog_shows_when_keys_count() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("q")
        assert "keys count in a moment" in stage.text()
        stage.hands.monotonic += QUIET
        await stage.until(lambda: "Enter choose" in stage.text(), "the end of the quiet")


async def test_q_just_leaves_where_nothing_trains() -> None:
    async with Stage(fixed_run.stopped_view()).opened() as stage:
        await stage.pilot.press("q")
    assert "stopped at step 113,943" in (stage.app.return_value or "")


async def test_r_resumes_only_what_has_ended() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("r")
        assert "r resume" not in stage.text()
        await stage.becomes(fixed_run.stopped_view())
        assert "r resume" in stage.text()
        await stage.pilot.press("c", "r")
        await stage.until(lambda: stage.operations.calls, "the launch")
    assert stage.operations.calls == ["launch"]


async def test_a_finished_run_offers_no_resume() -> None:
    status = Status(word="finished", severity=Severity.ENDED)
    finished = replace(fixed_run.stopped_view(), status=status, step=200_000)
    async with Stage(fixed_run.stopped_view()).opened() as stage:
        assert "r resume" in stage.text()
        await stage.becomes(finished)
        assert "r resume" not in stage.text()
        await stage.pilot.press("r")
        await stage.becomes(replace(finished, step=1_000))  # it was told to train no further
        assert "r resume" in stage.text()
    assert stage.operations.calls == []


async def test_read_only_says_so_and_changes_nothing() -> None:
    async with Stage(is_read_only=True).opened() as stage:
        assert "read-only" in stage.text()
        await stage.pilot.press("c")
        assert stage.toasts() == ["read-only: nothing is changed from here"]
        await stage.pilot.press("q")
    assert stage.operations.calls == []
    assert stage.app.return_value is not None


@pytest.mark.parametrize("view", [fixed_run.fixed_view(3), fixed_run.stopped_view()])
async def test_read_only_offers_no_key_that_would_change_the_run(view: RunView) -> None:
    async with Stage(view, is_read_only=True).opened(160, 45) as stage:
        await stage.pilot.press("4")
        last = stage.text().splitlines()[-1]
        assert "q quit" in last
        assert "Enter audit" in last
        for offer in ("c checkpoint", "p pivot", "r resume", "f fork", "t thin"):
            assert offer not in last
        await stage.pilot.press("question_mark")
        lines = help_lines(stage)
        assert "Detach" in lines
        assert "stop" not in lines
        for name in ("Checkpoint ", "Pivot", "Resume", "Fork", "Thin", "Quit dialog"):
            assert name not in lines


async def test_read_only_says_why_a_key_does_nothing() -> None:
    async with Stage(fixed_run.stopped_view(), is_read_only=True).opened() as stage:
        await stage.pilot.press("r", "p", "4", "f", "t")
        assert stage.toasts() == ["read-only: nothing is changed from here"] * 4
    assert stage.operations.calls == []


async def test_an_unforeseen_error_of_a_look_is_told_and_looking_goes_on() -> None:
    async with Stage().opened() as stage:
        stage.follower.error = RuntimeError("a [bold]surprise")
        await stage.wake()
        await stage.until(stage.toasts, "the error")
        assert "RuntimeError: a [bold]surprise" in stage.toasts()[0]
        stage.follower.error = None
        await stage.becomes(replace(stage.follower.view, step=113_960))
        assert "113,960" in stage.text()


def help_lines(stage: Stage) -> str:
    assert isinstance(stage.app.screen, HelpScreen)
    view = stage.app.screen.query_one(LineView)
    return "\n".join(view._line(index).plain for index in range(view.line_count))


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_no_line_of_the_help_is_cut_at_80_columns(is_read_only: bool) -> None:
    async with Stage(is_read_only=is_read_only).opened(80, 24) as stage:
        await stage.pilot.press("question_mark")
        assert "…" not in help_lines(stage)
        view = stage.app.screen.query_one(LineView)
        longest = max(view._line(index).cell_length for index in range(view.line_count))
        assert longest <= view.line_width


async def test_help_shows_every_key_of_the_table() -> None:
    keyed = [action for action in ACTIONS if action.keys]
    async with Stage().opened(120, 100) as stage:
        await stage.pilot.press("question_mark")
        lines = help_lines(stage)
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)
    assert len(keyed) > 60
    for action in keyed:
        assert action.title in lines
        assert action.description in lines


async def test_a_key_that_the_run_cant_take_says_why() -> None:
    async with Stage().opened() as stage:
        await stage.pilot.press("r")
        assert stage.toasts() == ["the trainer is running"]
        await stage.becomes(fixed_run.stopped_view())
        await stage.pilot.press("c")
        assert stage.toasts()[-1] == "no trainer is running"
    assert stage.operations.calls == []


async def test_panes_are_reached_by_number_and_by_tab_in_any_size() -> None:
    for size in ((160, 45), (80, 24)):
        async with Stage().opened(*size) as stage:
            for number, name in enumerate(PANES, start=1):
                await stage.pilot.press(str(number))
                assert stage.app.focused is stage.app.screen.query_one(f"#{name}")
            await stage.pilot.press("tab")
            assert stage.app.focused is stage.app.screen.query_one(f"#{PANES[0]}")
            await stage.pilot.press("shift+tab")
            assert stage.app.focused is stage.app.screen.query_one(f"#{PANES[-1]}")


async def test_all_panes_show_where_there_is_room_and_one_where_there_is_not() -> None:
    def only_fourth(panes: list[Widget]) -> bool:
        return [pane.display for pane in panes] == [pane is panes[3] for pane in panes]

    async with Stage().opened(160, 45) as stage:
        panes = [stage.app.screen.query_one(f"#{name}") for name in PANES]
        assert all(pane.display for pane in panes)
        assert all(str(pane.border_title).startswith(f"{n} ") for n, pane in enumerate(panes, 1))
        await stage.pilot.press("4", "z")
        await stage.until(lambda: only_fourth(panes), "the checkpoints alone")
        await stage.pilot.press("z")
        await stage.until(lambda: all(pane.display for pane in panes), "all panes")
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: only_fourth(panes), "the checkpoints alone, for want of room")


async def test_enter_on_a_checkpoint_shows_its_audit_beside_the_one_before() -> None:
    async with Stage().opened(160, 45) as stage:
        await stage.pilot.press("4", "down", "enter")
        assert isinstance(stage.app.screen, ComparisonScreen)
        text = stage.text()
        assert "step 113,700" in text
        assert "step 113,800" in text
        assert "val_loss" in text
        await stage.pilot.press("left")
        assert "step 113,600" in stage.text()
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)


async def test_samples_are_walked_back_and_the_newest_is_followed() -> None:
    async with Stage().opened(80, 24) as stage:
        await stage.pilot.press("2")
        assert "step 113,900" in stage.text()
        await stage.pilot.press("left", "left")
        assert "step 113,700" in stage.text()
        await stage.becomes(fixed_run.stopped_view())
        assert "step 113,700" in stage.text()
        await stage.pilot.press("F")
        assert "step 113,943" in stage.text()


async def test_the_cursor_stays_with_its_checkpoint_when_new_ones_come() -> None:
    async with Stage().opened(80, 24) as stage:
        await stage.pilot.press("4", "down", "down")
        await stage.becomes(fixed_run.stopped_view())
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, ComparisonScreen)
        assert "step 113,700" in stage.text()


async def test_zombies_and_skipped_files_are_named() -> None:
    async with Stage().opened(80, 24) as stage:
        await stage.pilot.press("3")
        assert "repo-docstrings" in stage.text()
        assert "zombie: 9,120 pulls, weight 1.546" in stage.text()
        await stage.pilot.press("4")
        assert "step_113000.bin.old skipped: name is no checkpoint's" in stage.text()


async def test_alarms_stand_on_lines_of_their_own() -> None:
    view = replace(fixed_run.fixed_view(12), alarms=("checkpoint of step 113,900 not saved: EIO",))
    async with Stage(view).opened(80, 24) as stage:
        lines = stage.text().splitlines()
        assert " ✖ checkpoint of step 113,900 not saved: EIO" in [line.rstrip() for line in lines]


HOSTILE = "[bold red]x[/] \x1b[2J\x1b]0;owned\x07 \u202eevil 日本語 \x00 {y} \\[z"


async def test_foreign_text_is_data_everywhere() -> None:
    view = fixed_run.fixed_view(3)
    audit = replace(view.audits[-1], prompt=HOSTILE, text=HOSTILE, cause=HOSTILE)
    hostile = replace(
        view,
        name=HOSTILE,
        path=Path(HOSTILE.replace("\x00", "")),
        status=Status(word="stopped", detail=HOSTILE, severity=Severity.BAD),
        is_running=True,
        audits=(*view.audits[:-1], audit),
        checkpoints=(*view.checkpoints[:-1], replace(view.checkpoints[-1], audit=audit)),
        arms=tuple(replace(arm, name=HOSTILE) for arm in view.arms),
        zombies=tuple(replace(zombie, arm=HOSTILE, reason=HOSTILE) for zombie in view.zombies),
        alarms=(HOSTILE,),
        notes=(HOSTILE,),
        log_tail=(HOSTILE,),
        last=LossPoint(step=1, loss=None, ema=None, nonfinite="NaN"),
        request=Request(stage=RequestStage.WRITTEN, message=HOSTILE),
    )
    async with Stage().opened(200, 60) as stage:
        await stage.becomes(hostile)
        shown = stage.text()
        await stage.pilot.press("q")
        shown += stage.text()
        stage.hands.monotonic += QUIET
        await stage.pilot.press("escape", "4", "enter")
        assert isinstance(stage.app.screen, ComparisonScreen)
        shown += stage.text()
    assert "[bold red]x[/]" in shown
    assert "\\x1b[2J" in shown
    assert "\\u202e" in shown
    assert "日本語" in shown
    assert not set(shown) & {"\x1b", "\x07", "\x00", "\u202e"}


async def test_the_chart_gets_the_history_of_the_same_look() -> None:
    series = fixed_run.fixed_series()
    async with Stage(series=series).opened(160, 45) as stage:
        chart = stage.app.screen.query_one(LossChart)
        assert chart.data.series is series.view()
        assert [mark.step for mark in chart.data.marks] == [41_233, 112_700]


async def test_the_header_keeps_state_and_step_on_the_smallest_terminal() -> None:
    view = replace(
        fixed_run.fixed_view(3),
        status=Status(word="failed", detail="x" * 300, severity=Severity.BAD),
    )
    async with Stage(view).opened(20, 5) as stage:
        text = stage.text()
        assert "failed" in text
        assert "113,942" in text
        assert stage.app.screen.query_one(Header).size.height <= 5


async def test_a_pane_has_the_focus_again_after_a_terminal_without_room_for_it() -> None:
    async with Stage().opened(80, 24) as stage:
        await stage.pilot.press("4")
        await stage.resize(30, 8)
        pane = stage.app.screen.query_one("#checkpoints")
        await stage.until(lambda: not pane.is_on_screen, "no room for a pane")
        stage.app.set_focus(None)  # as a real terminal's size comes to it, hidden for good
        await stage.resize(80, 24)
        await stage.until(lambda: stage.app.focused is pane, "the focus on the checkpoints")
