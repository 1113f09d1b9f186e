"""The fixed run on screens as SVG, the same at every call and without anything to load."""

import re
from collections.abc import Awaitable, Callable

from console.app import ConsoleApp
from tests.console import fixed_run
from tests.console.headless import Stage

_ELSEWHERE = re.compile(r"@font-face \{.*?\}\s*|<!-- Generated.*?-->\s*", re.DOTALL)
QUIET_SECONDS = 1.0

# The size of a terminal, in cells.
LARGE, SMALL = (160, 45), (80, 24)


class PicturedApp(ConsoleApp):
    """Its screenshots name no font to be loaded from elsewhere."""

    def export_screenshot(self, *, title: str | None = None, simplify: bool = False) -> str:
        svg = super().export_screenshot(title=title, simplify=simplify)
        return _ELSEWHERE.sub("", svg).replace("Fira Code", "DejaVu Sans Mono")


def picture_stage() -> Stage:
    """The fixed run, all of it, before an app that can be pictured."""
    view, series = fixed_run.fixed_view(), fixed_run.fixed_series()
    return Stage(view, series=series, app_class=PicturedApp)


async def show_dashboard(stage: Stage) -> None:
    """As it opens."""


async def show_checkpoints(stage: Stage) -> None:
    """The audit of a checkpoint beside the one before."""
    await stage.pilot.press("4", "down", "down", "enter")
    await stage.pilot.pause()


async def show_stop_dialog(stage: Stage) -> None:
    """The question after q, as soon as keys count."""
    await stage.pilot.press("q")
    stage.hands.monotonic += QUIET_SECONDS
    await stage.until(lambda: "Enter choose" in stage.text(), "the dialog")


SCENES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "dashboard": show_dashboard,
    "checkpoints": show_checkpoints,
    "stop": show_stop_dialog,
}
