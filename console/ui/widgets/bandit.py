"""The bandit pane: its arms, as the bandit has them or as sources of text, now or at a step."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.reactive import var

from console import formatting
from console.health.verdict import Health, Reason
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.widgets.line_view import LineView
from console.ui.widgets.source_table import table_lines
from console.view.run_view import ArmRow, RunView
from console.view.sources import SourceFacts, arms_at, losses_on_tests, sources_at
from trainer.rundir.state import Zombie


class BanditPane(LineView):
    """Shows the arms, and zombies in red under them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.BANDIT)

    step: var[int | None] = var(None)
    """The arms are shown as they were after it; `None`: as they are."""
    is_data: var[bool] = var(False)
    """Whether they are shown as sources."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._now: tuple[tuple[ArmRow, ...], tuple[Zombie, ...]] = ((), ())
        self._ills: tuple[Reason, ...] = ()
        self._facts = SourceFacts()

    def show(self, view: RunView, facts: SourceFacts) -> None:
        """Show this view's arms and zombies, and what is known of the sources."""
        self._now, self._facts = (view.arms, view.zombies), facts
        self._ills = ills_of(view.health)
        self._draw()

    def select(self, step: int | None) -> None:
        """Show the arms as they stood after this step."""
        self.step = step

    def watch_step(self) -> None:
        self._draw()

    def watch_is_data(self) -> None:
        self._draw()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._draw()

    def action_toggle_data(self) -> None:
        """The arms as the bandit has them, or as sources."""
        self.is_data = not self.is_data

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        arms, zombies = self._now
        if self.step is not None:
            arms, zombies = arms_at(self._facts, self.step), ()
        sources, width = sources_at(self._facts, self.step), self.line_width
        ills = [ill for ill in self._ills if self.step is None or ill.since_step <= self.step]
        lines = table_lines(
            arms,
            zombies,
            sources,
            width=width,
            is_data=self.is_data,
            tests=losses_on_tests(self._facts, self.step),
            ills=ills,
        )
        title = "3 data" if self.is_data else "3 bandit"
        at = "" if self.step is None else f" at step {formatting.steps(self.step)}"
        self.show_titles(title + at, title_of(arms, len(zombies)))
        self.show_lines(len(lines), lines.__getitem__)


def ills_of(health: Health) -> tuple[Reason, ...]:
    """What is wrong with single sources."""
    of_sources = (r for r in health.reasons if r.series.startswith(("loss of ", "val_loss of ")))
    return (*of_sources, *health.memorised.values())


def title_of(arms: Sequence[ArmRow], zombies: int) -> str:
    """What is to be known of all arms: how many are dead, and whether the bandit is."""
    live = [arm.state for arm in arms if arm.state.available]
    is_fixed = len(live) > 1 and all(arm.held_at for arm in live)
    words = ["every arm held at a bound: rewards change nothing"] if is_fixed else []
    if zombies:
        words.append(f"{zombies} zombie{'s' * (zombies > 1)}")
    return ", ".join(words)
