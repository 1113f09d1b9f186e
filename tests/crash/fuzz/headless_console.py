"""The whole console on a run, but for a terminal: real follower, operations and watcher."""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from console.follow.attendance import Attendance
from console.follow.follower import Follower, reasons_to_look
from console.fork.branches import Branches
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver
from console.pivot.wizard_files import WizardFiles
from console.ui.app import ConsoleApp
from console.ui.messages import RunUnreadable
from trainer.rundir.layout import RunDirectory

_SIZE = (100, 30)
_LOOK_SECONDS = 5.0
_A_MOMENT_SECONDS = 0.05


class WatchedApp(ConsoleApp):
    """Says aloud what its edges only show."""

    def on_run_unreadable(self, event: RunUnreadable) -> None:
        print(f"Traceback (most recent call last): unreadable: {event.reason}", file=sys.stderr)


def watch_run(path: Path, keys: Sequence[str]) -> int:
    """Open the run, press the keys, leave; 0, or what was raised."""
    return asyncio.run(_watch(RunDirectory(path), keys))


async def _watch(run: RunDirectory, keys: Sequence[str]) -> int:
    operations = Operations(run)
    follower = Follower(run, operations)
    app = WatchedApp(
        Attendance(follower),
        operations,
        WizardFiles(PivotDriver(operations), Path.cwd()),
        Branches(run, operations),
        reasons_to_look(follower),
    )
    async with app.run_test(size=_SIZE) as pilot:
        deadline = time.monotonic() + _LOOK_SECONDS
        while app.glance is None and time.monotonic() < deadline:
            await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause(_A_MOMENT_SECONDS)
    return app.return_code or 0
