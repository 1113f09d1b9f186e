"""Step 3: where the phase ends."""

from textual.app import ComposeResult

from console import formatting
from console.pivot.plan import ends_at_checkpoint
from console.ui.screens.pivot.step import PAGE_KEYS, Step
from console.ui.widgets.choices import Choice, Choices
from console.view.run_view import RunView
from trainer.rundir.pivot.journal import HoldMode, next_boundary


class When(Step):
    """The next boundary, which is the default, or after the step under way."""

    WORDS = (
        "The phase ends with a checkpoint and its sample audit. The new phase goes on from exactly"
        " that checkpoint."
    )
    KEYS = f"↑ ↓ choose   {PAGE_KEYS}"

    def __init__(self) -> None:
        super().__init__(id="pivot-when")

    @property
    def mode(self) -> HoldMode:
        """What is chosen."""
        marked = self.query_one(Choices).marked
        return HoldMode(marked) if marked else HoldMode.BOUNDARY

    def compose(self) -> ComposeResult:
        yield Choices(id="pivot-modes")

    def enter(self) -> None:
        """Take the focus."""
        self.screen.set_focus(self.query_one(Choices))

    def show(self, view: RunView, every: int) -> None:
        """Offer what there is at this moment of the run; the choice stays."""
        self.query_one(Choices).offer(modes_of(view, every))


def modes_of(view: RunView, every: int) -> tuple[Choice, ...]:
    """Both choices with the step and the time from now."""
    if not view.is_running:
        return _modes_of_stopped(view, every)
    boundary = next_boundary(view.step, every)
    text = f"At the next boundary: step {formatting.steps(boundary)}{_in(view, boundary)}"
    return (
        Choice(
            key=HoldMode.BOUNDARY,
            text=text,
            explained="with the checkpoint and audit that are due there; it trains on till then",
        ),
        Choice(
            key=HoldMode.NOW,
            text=f"After the step under way (now at {formatting.steps(view.step)})",
            explained="with a checkpoint and audit of its own, there and then",
        ),
    )


def _modes_of_stopped(view: RunView, every: int) -> tuple[Choice, ...]:
    newest = view.newest
    at = formatting.steps(newest.step if newest else None)
    if ends_at_checkpoint(view):
        words = "nothing is trained before; the new phase starts with the next step"
        return (
            Choice(key=HoldMode.BOUNDARY, text=f"At the checkpoint of step {at}", explained=words),
        )
    boundary = formatting.steps(next_boundary(view.step, every))
    return (
        Choice(
            key=HoldMode.BOUNDARY,
            text=f"At the next boundary: step {boundary}",
            explained="the trainer is started under the old policy and trains up to it first",
        ),
        Choice(
            key=HoldMode.NOW,
            text=f"At the newest checkpoint: step {at}",
            explained="steps after it are trained again, in the new phase",
        ),
    )


def _in(view: RunView, boundary: int) -> str:
    if not view.steps_per_minute:
        return ""
    seconds = (boundary - view.step) / view.steps_per_minute * 60
    return f", in about {formatting.duration(seconds)}"
