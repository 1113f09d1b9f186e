"""A run on disk, opened by the real console: its health is in the first screen."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.follow.attendance import Attendance
from console.follow.follower import Follower, reasons_to_look
from console.fork.branches import Branches
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver
from console.pivot.wizard_files import WizardFiles
from console.ui.app import ConsoleApp
from console.ui.screens.health import HealthScreen
from console.ui.widgets.loss_chart import LossChart
from console.view.glance import Glance
from console.view.machine import Machine
from tests.console.judged_run import FALLS_FROM, write_healthy, write_ill
from trainer.rundir.layout import RunDirectory

SMALL = (80, 24)


class Opened:
    """A console on a run, and what is on its screen."""

    def __init__(self, app: ConsoleApp, watcher: Attendance, pilot: Pilot[str]) -> None:
        self.app, self.watcher, self.pilot = app, watcher, pilot

    def lines(self) -> list[str]:
        return [strip.text.strip() for strip in self.app.screen._compositor.render_strips()]

    async def until(self, fact: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20.0
        while not fact():
            assert time.monotonic() < deadline, "\n".join(self.lines())
            await self.pilot.pause()


async def asked(follower: Follower, queue: asyncio.Queue[None]) -> AsyncGenerator[object, None]:
    """Looks until all is known, then whenever the test wants one."""
    while True:
        if follower.is_complete:
            await queue.get()
        yield None


@asynccontextmanager
async def opened(
    run: RunDirectory, looks: asyncio.Queue[None] | None = None
) -> AsyncIterator[Opened]:
    operations = Operations(run, read_only=True)
    follower = Follower(run, operations)
    watcher = Attendance(follower)
    app = ConsoleApp(
        watcher,
        operations,
        WizardFiles(PivotDriver(operations), Path.cwd()),
        Branches(run),
        reasons_to_look(follower) if looks is None else asked(follower, looks),
        is_read_only=True,
    )
    async with app.run_test(size=SMALL) as pilot:
        console = Opened(app, watcher, pilot)
        await console.until(lambda: app.view is not None and app.view.is_judged)
        await pilot.pause()
        yield console


async def test_an_ill_run_says_so_first_and_h_leads_to_where_it_began(run: RunDirectory) -> None:
    write_ill(run)
    async with opened(run) as console:
        await console.until(lambda: console.lines()[1].startswith("✖ since step ~4,"))
        told = console.lines()
        assert "audit score 7" in told[1]
        assert "! 1 alarm" in told[0]
        await console.pilot.press("h")
        await console.until(lambda: isinstance(console.app.screen, HealthScreen))
        await console.until(lambda: any("✖ score" in line for line in console.lines()))
        await console.pilot.press("enter")
        await console.until(lambda: not isinstance(console.app.screen, HealthScreen))
        shown = console.app.screen.query_one(LossChart)
        await console.until(lambda: shown.look.cursor is not None)
        assert shown.look.cursor == pytest.approx(FALLS_FROM, abs=400)


async def test_a_healthy_run_says_so_and_nothing_is_drawn_while_nothing_changes(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_healthy(run)
    # What the machine does meanwhile is another matter.
    monkeypatch.setattr(Follower, "look_at_machine", lambda _: Machine())
    looks: asyncio.Queue[None] = asyncio.Queue()
    async with opened(run, looks) as console:
        await console.until(lambda: "✓ healthy" in console.lines()[0])
        glances: list[Glance] = []
        look = console.watcher.look

        def counted() -> Glance:
            glances.append(look())
            return glances[-1]

        monkeypatch.setattr(console.watcher, "look", counted)
        for n_looks in (1, 2):  # the first of them reads the log
            looks.put_nowait(None)
            await console.until(lambda n=n_looks: len(glances) == n)  # type: ignore[misc]
            await console.pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(console.app, "_display", lambda *args: drawn.append(args))
        looks.put_nowait(None)
        await console.until(lambda: len(glances) == 3)
        await console.pilot.pause()
        assert glances[1] == glances[2]
        assert drawn == []
