"""The list of events: the newest first, by kind, and a way to the step of each."""

from dataclasses import replace

from console.ui.screens.dashboard import Dashboard
from console.ui.screens.events import EventsScreen
from console.view.run_view import Event, EventKind, RunView, Severity
from tests.console import fixed_run
from tests.console.headless import Stage

HOUR = 3600.0


def event(hours_ago: float, step: int | None, kind: EventKind, text: str) -> Event:
    severity = Severity.BAD if kind is EventKind.CRASH else Severity.OK
    t = fixed_run.NOW - hours_ago * HOUR
    return Event(t=t, step=step, kind=kind, text=text, severity=severity)


EVENTS = (
    event(90, 41_233, EventKind.CRASH, "killed by the kernel: [/]out of memory"),
    event(89, 41_200, EventKind.START, "resuming from step_041200.bin"),
    event(8, 112_700, EventKind.PIVOT, "phase 2: less code"),
    event(1, None, EventKind.OPERATOR, "stop: not sent"),
)


def view_with(*events: Event) -> RunView:
    return replace(fixed_run.fixed_view(12), events=events)


def lines(stage: Stage) -> list[str]:
    return [line for line in stage.text().splitlines() if " ago  " in line or "– " in line]


def dashboard(stage: Stage) -> Dashboard:
    screen = stage.app.screen
    assert isinstance(screen, Dashboard)
    return screen


async def test_events_are_listed_the_newest_first_and_wholly_below() -> None:
    async with Stage(view_with(*EVENTS)).opened(80, 24) as stage:
        await stage.pilot.press("e")
        await stage.pilot.pause()
        text = stage.text()
        places = [text.index(each.text[:20]) for each in reversed(EVENTS)]
        assert places == sorted(places)
        assert "Events: 4" in text
        await stage.pilot.press("end")
        await stage.pilot.pause()
        assert "(3 d 18 h ago), step 41,233" in stage.text()
        assert "killed by the kernel: [/]out of memory" in stage.text()


async def test_enter_goes_to_the_step_of_an_event_and_escape_nowhere() -> None:
    async with Stage(view_with(*EVENTS)).opened(80, 24) as stage:
        await stage.pilot.press("e", "escape")
        await stage.pilot.pause()
        assert dashboard(stage).step is None
        await stage.pilot.press("e", "down", "enter")
        await stage.until(lambda: not isinstance(stage.app.screen, EventsScreen), "the dashboard")
        await stage.until(lambda: dashboard(stage).step == 112_700, "the step")


async def test_an_event_without_a_step_leads_nowhere() -> None:
    async with Stage(view_with(*EVENTS)).opened(80, 24) as stage:
        await stage.pilot.press("e", "enter")
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, EventsScreen)


async def test_f_walks_through_the_kinds_that_occurred_and_back_to_all() -> None:
    async with Stage(view_with(*EVENTS)).opened(80, 24) as stage:
        await stage.pilot.press("e", "f")
        await stage.pilot.pause()
        assert "Events: crash, 1 of 4" in stage.text()
        assert "resuming" not in stage.text()
        await stage.pilot.press("F")
        await stage.pilot.pause()
        assert "Events: 4" in stage.text()
        await stage.pilot.press("f", "f", "f", "f", "f")
        await stage.pilot.pause()
        assert "Events: 4" in stage.text()


async def test_the_cursor_stays_with_its_event_when_another_comes() -> None:
    async with Stage(view_with(*EVENTS)).opened(80, 24) as stage:
        await stage.pilot.press("e", "down")
        newer = event(0, 113_900, EventKind.ALARM, "disk almost full")
        await stage.becomes(view_with(*EVENTS, newer))
        assert "disk almost full" in stage.text()
        assert "(8 h 00 ago), step 112,700" in stage.text()


async def test_without_events_it_says_so() -> None:
    async with Stage(view_with()).opened(80, 24) as stage:
        await stage.pilot.press("e", "enter", "f", "down")
        await stage.pilot.pause()
        assert "nothing has happened yet" in stage.text()


async def test_t_turns_ages_into_dates_in_list_header_and_checkpoints() -> None:
    async with Stage(view_with(*EVENTS)).opened(160, 45) as stage:
        assert "113,900, 7 min ago" in stage.text()
        await stage.pilot.press("T")
        await stage.pilot.pause()
        text = stage.text()
        assert " ago" not in text
        assert "113,900, May 28 20:19" in text
        assert "written" in text
        await stage.pilot.press("e")
        await stage.pilot.pause()
        assert "May 28 19:26" in stage.text()
        await stage.pilot.press("T")
        await stage.pilot.pause()
        assert "1 h 00 ago" in stage.text()
