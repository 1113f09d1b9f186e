"""The app's part that follows the runs laid over the chart; nothing while there is none."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from textual import work
from textual.driver import Driver
from textual.reactive import var

from console.chart.chart_data import Other
from console.follow.other_run import OtherRun, open_other
from console.fork.beside import runs_beside
from console.ui.ordered_keys import OrderedKeysApp
from console.ui.screens.overlay import OverlayScreen
from console.ui.widgets.text import foreign
from trainer.rundir.layout import RunDirectory

LOOK_SECONDS = 5.0
"""How often what is new of them is read."""


class OverlayingApp(OrderedKeysApp):
    """Reads them in threads, one look after the other."""

    others: var[tuple[Other, ...]] = var(())
    """The runs laid over the chart, as they are."""

    def __init__(
        self, run: RunDirectory, *, driver_class: type[Driver] | None, ansi_color: bool
    ) -> None:
        """`run`: the one that is shown."""
        super().__init__(driver_class=driver_class, ansi_color=ansi_color)
        self._run_shown = run

    def tell(self, message: str, *, is_ok: bool) -> None:
        """Show a passing note."""
        self.notify(foreign(message), severity="information" if is_ok else "error", markup=False)

    def on_loss_chart_overlay_asked(self) -> None:
        screen = OverlayScreen(lambda: runs_beside(self._run_shown))
        self.push_screen(screen, self._lay_over)

    def on_loss_chart_overlay_left(self) -> None:
        self._lay_over(())

    def _lay_over(self, paths: Sequence[Path] | None) -> None:
        if paths is not None:
            self._follow_others(paths)

    @work(group="others", exclusive=True)
    async def _follow_others(self, paths: Sequence[Path]) -> None:
        self.others = tuple(Other(name=f"{path.name} is being read") for path in paths)
        followed = [run for path in paths if (run := await self._open_at(path)) is not None]
        while followed:
            if (others := tuple(run.other for run in followed)) != self.others:
                self.others = others
            await asyncio.sleep(LOOK_SECONDS)
            followed = [run for run in followed if await self._look_at(run)]
        self.others = ()

    async def _open_at(self, path: Path) -> OtherRun | None:
        """A relative path is one from where the run lies, beside its siblings."""
        path = self._run_shown.path.absolute().parent / path
        try:
            return await asyncio.to_thread(open_other, path)
        except OSError as error:
            self._tell_gone(path, error)
            return None

    async def _look_at(self, run: OtherRun) -> bool:
        try:
            await asyncio.to_thread(run.look)
        except OSError as error:
            self._tell_gone(run.run.path, error)
            return False
        return True

    def _tell_gone(self, path: Path, error: OSError) -> None:
        why = error.strerror or str(error)
        self.tell(f"{path.name} is not laid over: {why}", is_ok=False)
