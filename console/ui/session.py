"""Running the app in a real terminal: signals, the terminal's end, the last words."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from console.follow.attendance import Attendance
from console.fork.branches import Branches
from console.operations.protocol import Operations
from console.pivot.wizard_files import WizardFiles
from console.process.signals import on_leave_signals
from console.ui.app import ConsoleApp
from console.ui.terminal import TerminalDriver, say
from console.view.glance import Follower


def run_console(
    follower: Follower,
    operations: Operations,
    files: WizardFiles,
    branching: Branches,
    changes: AsyncGenerator[object, None],
    *,
    memory: Path | None = None,
    is_read_only: bool = False,
) -> int:
    """Show the run until the operator leaves or the terminal is gone; the process's exit code.

    `memory`: where it is kept what this operator has seen of the run.

    SIGINT, SIGTERM and SIGHUP close the console; the trainer isn't touched. The last words go
    to stderr after the screen has closed.
    """
    attendance = Attendance(follower, memory)
    app = ConsoleApp(
        attendance,
        operations,
        files,
        branching,
        changes,
        is_read_only=is_read_only,
        driver_class=TerminalDriver,
    )
    try:
        words = asyncio.run(_run(app))
    finally:
        attendance.leave()
    if words:
        say(words)
    return app.return_code or 0


async def _run(app: ConsoleApp) -> str | None:
    on_leave_signals(app.action_detach)
    return await app.run_async()
