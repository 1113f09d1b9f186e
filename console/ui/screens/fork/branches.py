"""The branches screen: the run and all its branches in one list."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType

from console.fork.branch_rows import BranchRow
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.fork.branch_table import BranchTable
from console.ui.screens.framed import FramedScreen

_READ_EVERY_SECONDS = 1.0


class BranchesScreen(FramedScreen):
    """Looks at all of them again and again for as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.BRANCHES_SCREEN)

    def __init__(
        self,
        run_name: str,
        read: Callable[[], tuple[BranchRow, ...]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` may block, and raise `OSError`."""
        super().__init__(f"Branches of {run_name}", monotonic=monotonic)
        self._read = read

    def compose_body(self) -> ComposeResult:
        yield BranchTable(id="branches")

    def on_mount(self) -> None:
        self.begin_quiet()
        self.look()
        self.set_interval(_READ_EVERY_SECONDS, self.look)

    def words(self) -> str:
        return (
            "Each branch is a run of its own beside this one, with its own trainer; closing this"
            " stops none."
        )

    def keys(self) -> str:
        return "↑ ↓ row   Enter compare   m compare with this   s stop   o open   Esc close"

    def enter(self) -> None:
        """Take the focus."""
        self.set_focus(self.query_one(BranchTable))

    @work(group="branches", exclusive=True)
    async def look(self) -> None:
        """Read all of them again."""
        try:
            rows = await asyncio.to_thread(self._read)
        except OSError as error:
            self.say(str(error))
        else:
            self.query_one(BranchTable).show(rows)

    def on_branch_table_refused(self, event: BranchTable.Refused) -> None:
        event.stop()
        self.say(event.why)
