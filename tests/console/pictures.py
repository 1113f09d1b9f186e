"""The fixed run on screens as SVG, the same at every call and without anything to load."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from console.pivot.wizard_files import WizardFiles
from console.ui.app import ConsoleApp
from console.ui.screens.fork.compare import CompareScreen
from console.ui.screens.pivot.progress import ProgressScreen
from console.ui.widgets.fields import ConfirmField
from tests.console import fixed_run, fixed_sources
from tests.console.fixed_comparison import fixed_side_by_side
from tests.console.headless import Stage
from tests.console.scripted_pivots import FACTS, STARTING, make_fixed_run
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.sources.source_size import SourceSize

_ELSEWHERE = re.compile(r"@font-face \{.*?\}\s*|<!-- Generated.*?-->\s*", re.DOTALL)
QUIET_SECONDS = 1.0

# The size of a terminal, in cells.
LARGE, SMALL = (160, 45), (80, 24)


class PicturedApp(ConsoleApp):
    """Its screenshots name no font to be loaded from elsewhere."""

    def export_screenshot(self, *, title: str | None = None, simplify: bool = False) -> str:
        svg = super().export_screenshot(title=title, simplify=simplify)
        return _ELSEWHERE.sub("", svg).replace("Fira Code", "DejaVu Sans Mono")


class PicturedFiles(WizardFiles):
    """Knows the size of its sources by heart."""

    def measure(self, source: SourceSettings) -> SourceSize:
        return SourceSize(documents=28_400, text_bytes=9_310_000, is_exact=True, tokens=2_290_000)


def picture_stage(folder: Path) -> Stage:
    """The fixed run, all of it, before an app that can be pictured; `folder` is an empty one."""
    view, series = fixed_run.fixed_view(), fixed_run.fixed_series()
    run = make_fixed_run(folder / view.name)
    return Stage(view, series=series, app_class=PicturedApp, run=run, files_class=PicturedFiles)


async def show_dashboard(stage: Stage) -> None:
    """As it opens."""


async def show_data(stage: Stage) -> None:
    """The arms as sources of text, the pane alone."""
    stage.follower.sources = fixed_sources.fixed_sources()
    await stage.becomes(replace(stage.follower.view, health=fixed_sources.fixed_ills()))
    await stage.pilot.press("3", "b", "z")
    await stage.pilot.pause()


async def show_checkpoints(stage: Stage) -> None:
    """The audit of a checkpoint beside the one before."""
    await stage.pilot.press("4", "down", "down", "enter")
    await stage.pilot.pause()


async def show_stop_dialog(stage: Stage) -> None:
    """The question after q, as soon as keys count."""
    await stage.pilot.press("q")
    await stage.settle("Enter choose")


async def show_policy(stage: Stage) -> None:
    """The wizard's second step: a cap lowered, a source removed, one added, a mistake."""
    await stage.pilot.press("p")
    await stage.settle("n next")
    await stage.until(lambda: "enough for one more" in stage.text(), "the checks")
    await stage.pilot.press("n")
    await stage.settle("digits type")
    await stage.pilot.press("right", *"0.8", "down", "down", "down", "x")
    await stage.pilot.press("a", *"docstrings", "enter")
    await stage.pilot.press(*"python:docstrings", "enter")
    await stage.until(lambda: "28,400 documents" in stage.text(), "the count")
    await stage.pilot.press("tab", *"the topics repeat themselves", "shift+tab")
    await stage.pilot.press("down", "left", *"0.3")
    await stage.pilot.pause()


async def show_review(stage: Stage) -> None:
    """The fourth step, the run's name half typed."""
    await show_policy(stage)
    await stage.pilot.press("escape", "n")
    await stage.settle("At the next boundary")
    await stage.pilot.press("n")
    await stage.settle("type the name")
    await stage.until(lambda: isinstance(stage.app.focused, ConfirmField), "the field")
    await stage.pilot.press(*"andrea")
    await stage.pilot.pause()


async def show_progress(stage: Stage) -> None:
    """The fifth step, settings committed and the trainer on its way."""
    await show_review(stage)
    await stage.pilot.press(*"-120m")
    stage.hands.monotonic += QUIET_SECONDS
    await stage.pilot.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, ProgressScreen), "the progress")
    stage.pivots.tell(*FACTS[:3], STARTING)
    await stage.settle("loading torch")
    await stage.settle("Enter choose")


async def show_compare(stage: Stage) -> None:
    """Two branches side by side."""
    names = ("v3-112700-a", "v3-112700-b")
    await stage.app.push_screen(CompareScreen(names, fixed_side_by_side))
    await stage.until(lambda: "better than" in stage.text(), "the verdict")
    await stage.pilot.pause()


async def show_health(stage: Stage) -> None:
    """Series by series, after the score began to fall."""
    await stage.becomes(fixed_run.ill_view())
    await stage.pilot.press("h")
    await stage.pilot.pause()


async def show_ill(stage: Stage) -> None:
    """The first screen of a run that is ill."""
    await stage.becomes(fixed_run.ill_view())


async def show_alarms(stage: Stage) -> None:
    """What nobody has acknowledged, and what has been."""
    await stage.becomes(fixed_run.ill_view())
    await stage.pilot.press("exclamation_mark", "a")
    await stage.until(lambda: "lasts, seen" in stage.text(), "the acknowledgement")
    await stage.pilot.pause()


async def show_events(stage: Stage) -> None:
    """Three weeks, the newest first."""
    await stage.becomes(fixed_run.eventful_view())
    await stage.pilot.press("e", "down", "down")
    await stage.pilot.pause()


SCENES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "dashboard": show_dashboard,
    "ill": show_ill,
    "health": show_health,
    "alarms": show_alarms,
    "events": show_events,
    "data": show_data,
    "checkpoints": show_checkpoints,
    "stop": show_stop_dialog,
    "policy": show_policy,
    "review": show_review,
    "progress": show_progress,
    "compare": show_compare,
}
