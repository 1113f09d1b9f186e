"""The guard of every screen that opens over the dashboard, whichever way a key takes."""

from collections.abc import Callable

import pytest
from textual import events

from console.ui.input_guard import QUIET_SECONDS
from console.ui.screens.fork.fork import ForkScreen
from console.ui.screens.guarded import GuardedScreen
from console.ui.screens.pivot.wizard import WizardScreen
from console.ui.screens.quit_dialog import QuitDialog
from console.ui.screens.thin_dialog import ThinDialog
from console.ui.widgets.choices import Choices
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.checkpoints.retention import Plan

Opened = Callable[[Stage], GuardedScreen]


def quit_dialog(stage: Stage) -> GuardedScreen:
    return QuitDialog(fixed_run.fixed_view(1), monotonic=lambda: stage.hands.monotonic)


def thin_dialog(stage: Stage) -> GuardedScreen:
    plan = Plan(kept={50: "the newest"}, going=())
    return ThinDialog(plan, monotonic=lambda: stage.hands.monotonic)


def fork_screen(stage: Stage) -> GuardedScreen:
    clock = lambda: stage.hands.monotonic  # noqa: E731
    return ForkScreen("v3", 100, 100, monotonic=clock)


def wizard(stage: Stage) -> GuardedScreen:
    return WizardScreen(stage.app._files, monotonic=lambda: stage.hands.monotonic)


every_screen = pytest.mark.parametrize("made", [quit_dialog, thin_dialog, fork_screen, wizard])


async def open_over_dashboard(stage: Stage, made: Opened) -> GuardedScreen:
    screen = made(stage)
    await stage.app.push_screen(screen)
    await stage.pilot.pause()
    return screen


async def send_to_pane_below(stage: Stage, key: str) -> None:
    """As if the app had sent the key to the chart just before the screen opened."""
    event = events.Key(key, None)
    event._set_forwarded()
    stage.app.screen_stack[0].query_one("#loss").post_message(event)
    for _ in range(4):  # the pane, its container, the screen, the app
        await stage.pilot.pause()


@every_screen
async def test_keys_on_their_way_to_a_pane_below_do_nothing_and_prolong_the_quiet(
    made: Opened,
) -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, made)
        for key in ("x", "enter", "escape", "x", "x", "escape"):
            stage.hands.monotonic += QUIET_SECONDS * 0.9
            await send_to_pane_below(stage, key)
            assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS)
        assert stage.app.screen is screen


@every_screen
async def test_asking_which_keys_are_on_offer_does_not_prolong_the_quiet(made: Opened) -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, made)
        stage.hands.monotonic += QUIET_SECONDS / 2
        assert "escape" not in screen.active_bindings
        assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS / 2)
        stage.hands.monotonic += QUIET_SECONDS
        assert "escape" in screen.active_bindings


@every_screen
async def test_escape_counts_after_the_quiet_and_a_paste_begins_it_anew(made: Opened) -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, made)
        stage.hands.monotonic += QUIET_SECONDS
        screen.post_message(events.Paste("x"))
        await stage.pilot.press("escape")
        assert stage.app.screen is screen
        stage.hands.monotonic += QUIET_SECONDS
        await stage.pilot.press("escape")
        assert stage.app.screen is not screen


async def test_a_click_brings_no_key_past_the_quiet() -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, thin_dialog)
        stage.hands.monotonic += QUIET_SECONDS / 2
        await stage.pilot.click(Choices)
        assert screen.focused is None
        assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS)
        await stage.pilot.press("enter", "enter")
        assert stage.app.screen is screen


@every_screen
async def test_no_click_into_the_quiet_gives_a_widget_the_focus_and_the_wheel_is_no_click(
    made: Opened,
) -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, made)
        await stage.pilot.pause()
        focused = screen.focused
        stage.hands.monotonic += QUIET_SECONDS / 2
        for widget in [each for each in screen.query("*") if each.can_focus and each.region]:
            await stage.pilot.click(widget)
            assert screen.focused is focused
        await stage.pilot.click(offset=(0, 0))
        assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS)
        stage.hands.monotonic += QUIET_SECONDS / 2
        await stage.pilot._post_mouse_events([events.MouseScrollDown], screen)
        assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS / 2)


async def test_a_priority_key_of_the_wizard_waits_for_the_quiet_too() -> None:
    async with Stage().opened() as stage:
        screen = await open_over_dashboard(stage, wizard)
        stage.hands.monotonic += QUIET_SECONDS / 2
        await stage.pilot.press("ctrl+right")
        assert screen.guard.remaining_seconds == pytest.approx(QUIET_SECONDS)
