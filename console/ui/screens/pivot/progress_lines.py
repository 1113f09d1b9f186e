"""A pivot under way as lines: its six steps, and what can be done about it; pure."""

from collections.abc import Sequence

from textual.content import Content

from console.pivot.timeline import STEPS, Timeline
from console.ui.screens.pivot.step import wrapped
from console.ui.theme import ACCENT, DIM, GOOD, RED
from console.ui.widgets.choices import Choice
from console.ui.widgets.text import foreign
from trainer.rundir.pivot.journal import Stage

CONTINUE, ROLL_BACK, CLOSE = "continue", "roll back", "close"

_LOOK_LATER = Choice(
    key=CLOSE, text="Close: leave it as it is", explained="nothing is touched; p shows this again"
)
_GOING = Choice(
    key=CLOSE,
    text="Back to the dashboard",
    explained="the pivot goes on; p shows this again",
)
_OVER = Choice(key=CLOSE, text="Back to the dashboard", explained="the pivot is over")


def choices_of(timeline: Timeline, *, is_walking: bool) -> tuple[Choice, ...]:
    """What can be done about a pivot in this state."""
    if timeline.is_over:
        return (_OVER,)
    if is_walking:
        return (_GOING,)
    reached = max((stage for stage in timeline.facts), key=list(Stage).index, default=None)
    is_untouched = reached in (None, Stage.REQUESTED)
    back = (
        "the request is withdrawn; the run goes on as it is"
        if is_untouched
        else ("the old settings and sidecars are put back byte for byte; no step is lost")
    )
    return (
        Choice(
            key=CONTINUE,
            text="Continue the pivot",
            explained="from the last step that is done, with the policy that was confirmed",
        ),
        Choice(key=ROLL_BACK, text="Roll it back: keep the old policy", explained=back),
        _LOOK_LATER,
    )


def timeline_lines(timeline: Timeline, head: str, width: int) -> list[Content]:
    """The six steps: done with their facts, under way, or still to come."""
    lines = [*wrapped(Content(foreign(head)), width), Content()] if head else []
    told: set[Stage] = set()
    is_next = True
    for number, (title, stage) in enumerate(STEPS, start=1):
        is_done = stage in timeline.facts
        mark, style = _mark(is_done=is_done, is_next=is_next, has_problem=bool(timeline.problem))
        name = Content.styled(f"{number} {title}", style if is_done or is_next else DIM)
        lines.append(Content.assemble((f" {mark} ", style if is_done or is_next else DIM), name))
        words = "" if stage in told else timeline.facts.get(stage, "")
        told.add(stage)
        if not is_done and is_next:
            words, is_next = timeline.waiting, False
        if words:
            lines += wrapped(
                Content.styled(foreign(words), DIM), width, first="     ", rest="     "
            )
    if timeline.problem:
        lines += [Content(), *_problem(timeline.problem, width)]
    return lines


def _mark(*, is_done: bool, is_next: bool, has_problem: bool) -> tuple[str, str]:
    if is_done:
        return "✓", GOOD
    if is_next:
        return ("✖", RED) if has_problem else ("◆", f"bold {ACCENT}")
    return "·", DIM


def _problem(problem: str, width: int) -> Sequence[Content]:
    return wrapped(Content.styled(foreign(problem), RED), width, first=" ✖ ", rest="   ", style=RED)
