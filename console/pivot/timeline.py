"""How far a pivot has come, as the six steps that an operator knows; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from console import formatting
from console.pivot.facts import Progress, archived, committed, held, requested
from trainer.rundir.pivot.journal import STAGES, Pivot, Stage

STEPS: tuple[tuple[str, Stage], ...] = (
    ("requested", Stage.REQUESTED),
    ("checkpoint and audit", Stage.HELD),
    ("trainer stopped", Stage.HELD),
    ("sidecars archived", Stage.ARCHIVED),
    ("settings committed", Stage.COMMITTED),
    ("resumed in the new phase", Stage.RESTARTED),
)
"""The steps of a pivot, and the stage of the journal with which each is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What has been told of a pivot."""

    facts: Mapping[Stage, str] = field(default_factory=dict)
    """Of each stage that is done."""
    waiting: str = ""
    """What is waited for now."""
    problem: str = ""
    """Why it can't go on by itself; empty while it can."""

    @property
    def is_over(self) -> bool:
        """Whether the new phase has its first step."""
        return Stage.RESTARTED in self.facts

    def after(self, progress: Progress) -> "Timeline":
        """With one more fact."""
        if not progress.is_done:
            at = "" if progress.step is None else f"; now at step {formatting.steps(progress.step)}"
            return replace(self, waiting=f"{progress.message}{at}", problem="")
        facts = {**self.facts, progress.stage: progress.message}
        return replace(self, facts=facts, waiting="", problem="")

    def halted(self, problem: str) -> "Timeline":
        """As it is when it can't go on."""
        return replace(self, waiting="", problem=problem)


def timeline_of(pivot: Pivot) -> Timeline:
    """What the journal of a pivot under way tells."""
    reached = STAGES[: STAGES.index(pivot.stage) + 1]
    told = [requested(pivot)]
    if Stage.HELD in reached:
        told.append(held(pivot))
    if Stage.ARCHIVED in reached:
        told.append(archived(pivot, f"phase_{pivot.phase:03d}"))
    if Stage.COMMITTED in reached:
        told.append(committed())
    timeline = Timeline()
    for progress in told:
        timeline = timeline.after(progress)
    return timeline
