"""The app without a terminal: a scripted follower and operations that remember their calls."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual import events
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.pilot import Pilot

from console.chart.series import Series
from console.follow.attendance import Attendance
from console.follow.follower import Clock
from console.fork.branches import Branches
from console.pivot.wizard_files import WizardFiles
from console.ui.app import ConsoleApp
from console.ui.input_guard import QUIET_SECONDS
from console.view.machine import Machine
from console.view.run_view import RunView
from console.view.sources import SourceFacts
from tests.console import fixed_run
from tests.console.scripted_pivots import ScriptedPivots
from tests.console.told import Told
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.layout import RunDirectory


class ScriptedFollower:
    """Looks at whatever view it was given last."""

    def __init__(self, view: RunView, series: Series | None = None) -> None:
        self.view = view
        self.series = series or Series()
        self.sources = SourceFacts()
        self.machine = fixed_run.fixed_machine()
        self.looks = 0
        self.error: Exception | None = None

    def look(self) -> RunView:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return self.view

    def look_at_machine(self) -> Machine:
        return self.machine


@dataclass
class RecordedOperations:
    """Remembers what was asked for; each may have a consequence for the run."""

    calls: list[str] = field(default_factory=list)
    outcome: Told = field(default_factory=Told)
    then: Callable[[str], None] = lambda name: None
    plan: Plan | None = None

    def checkpoint(self) -> Told:
        return self._called("checkpoint")

    def stop(self) -> Told:
        return self._called("stop")

    def launch(self) -> Told:
        return self._called("launch")

    def preview_thinning(self, steps: Collection[int] = ()) -> Plan | Told:
        self.calls.append(" ".join(["preview", *map(str, steps)]))
        return self.plan or Told(ok=False, message="thin: all are kept")

    def thin(self, plan: Plan) -> Told:
        assert plan is self.plan
        return self._called("thin")

    def pin(self, steps: Sequence[int], note: str | None = None) -> Told:
        return self._called(f"pin {[*steps]} {note}")

    def unpin(self, steps: Sequence[int]) -> Told:
        return self._called(f"unpin {[*steps]}")

    def _called(self, name: str) -> Told:
        self.calls.append(name)
        self.then(name)
        return self.outcome


@dataclass
class Hands:
    """The clocks of a test, moved by hand."""

    wall: float = fixed_run.NOW
    monotonic: float = 100.0


class Stage:
    """An app, and everything around it that a test moves or reads."""

    def __init__(
        self,
        view: RunView | None = None,
        *,
        series: Series | None = None,
        is_read_only: bool = False,
        app_class: type[ConsoleApp] = ConsoleApp,
        run: RunDirectory | None = None,
        files_class: type[WizardFiles] = WizardFiles,
        branching: Branches | None = None,
        memory: Path | None = None,
    ) -> None:
        """`run`: the directory that a pivot is made in; by default there is none. `memory`: where
        it is kept what was seen.
        """
        self.follower = ScriptedFollower(view or fixed_run.fixed_view(12), series)
        self.operations = RecordedOperations()
        self.pivots = ScriptedPivots(run or RunDirectory(Path("nowhere") / "andrea-120m"))
        self.files = files_class(self.pivots, Path("/srv/text"))
        self.hands = Hands()
        self._wakes: asyncio.Queue[None] = asyncio.Queue()
        clock = Clock(wall=lambda: self.hands.wall, monotonic=lambda: self.hands.monotonic)
        self.app = app_class(
            Attendance(self.follower, memory, clock=clock),
            self.operations,
            self.files,
            branching or Branches(self.pivots.run),
            self._changes(),
            clock=clock,
            is_read_only=is_read_only,
        )
        self.pilot: Pilot[str]

    async def _changes(self) -> AsyncGenerator[None, None]:
        try:
            while True:
                await self._wakes.get()
                yield None
        finally:
            self.pivots.tell(None)  # the app ends, and waits for the thread of a walk

    @asynccontextmanager
    async def opened(self, width: int = 120, height: int = 40) -> AsyncIterator["Stage"]:
        """The app with the run on its screen."""
        async with self.app.run_test(size=(width, height)) as pilot:
            await self.begin(pilot)
            yield self

    async def begin(self, pilot: Pilot[str]) -> None:
        """Take the app's pilot and wait until the run is on the screen."""
        self.pilot = pilot
        await self.until(lambda: self.app.glance is not None, "the first look")
        await self.pilot.pause()

    async def becomes(self, view: RunView) -> None:
        """Let the run become this, and the app see it."""
        self.follower.view = view
        await self.wake()

    async def wake(self) -> None:
        """Let the watcher report a change; returns when the app has looked."""
        looks = self.follower.looks
        self.report_change()
        await self.until(lambda: self.follower.looks > looks, "a look")
        await self.pilot.pause()
        await self.pilot.pause()

    def report_change(self) -> None:
        """Let the watcher report a change."""
        self._wakes.put_nowait(None)

    def operations_under_way(self) -> int:
        return sum(worker.group == "operations" for worker in self.app.workers)

    async def resize(self, width: int, height: int) -> None:
        """Another size, laid out and drawn when it returns; quicker than the pilot's own way."""
        assert isinstance(self.app._driver, HeadlessDriver)
        size = Size(width, height)
        self.app._driver._size = size
        self.app.post_message(events.Resize(size, size))
        while self.app.screen.size != size:
            await asyncio.sleep(0)
        self.app.screen._on_timer_update()

    async def until(self, fact: Callable[[], object], what: str, seconds: float = 20.0) -> None:
        """Go on until `fact()` holds."""
        deadline = time.monotonic() + seconds
        while not fact():
            assert time.monotonic() < deadline, (
                f"waited in vain for: {what}; on the screen:\n{self.text()}"
            )
            await self.pilot.pause()

    async def settle(self, text: str) -> None:
        """Let moments of quiet pass until this is to be seen: a screen may begin one of its own."""

        def is_seen_later() -> bool:
            self.hands.monotonic += 2 * QUIET_SECONDS
            return text in self.text()

        await self.until(is_seen_later, text)

    def text(self) -> str:
        """All that is on the screen, line by line."""
        width, height = self.app.size
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text[:width] for strip in lines[:height])

    def toasts(self) -> list[str]:
        """What was told so far."""
        return [notification.message for notification in self.app._notifications]
