"""Step 1: what must be so before a pivot, and what to do where it isn't."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content

from console.pivot.plan import Check
from console.ui.screens.pivot.step import Step, wrapped
from console.ui.theme import DIM, GOOD, RED
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign


class Preconditions(Step):
    """A list that is looked at again with every change of the run."""

    WORDS = (
        "A pivot ends this phase and goes on under another policy: the same weights, the same"
        " loss history, a fresh bandit. Nothing is changed before you confirm it in step 4."
    )
    KEYS = "n next   ↑ ↓ scroll   Esc cancel"

    def __init__(self) -> None:
        super().__init__(id="pivot-preconditions")
        self._checks: tuple[Check, ...] = ()
        self._failure = ""
        """Why the run can't be looked at; empty while it can."""

    def compose(self) -> ComposeResult:
        yield LineView(id="pivot-checks")

    def enter(self) -> None:
        """Take the focus."""
        self.screen.set_focus(self.query_one(LineView))

    def on_resize(self) -> None:
        self._draw()

    def show(self, checks: tuple[Check, ...]) -> None:
        """Show these."""
        self._checks = checks
        self._draw()

    def refuse(self, failure: str) -> None:
        """The run can't be looked at."""
        self._failure = failure
        self._draw()

    def problem(self) -> str:
        """Why it can't go on from here; empty if it can."""
        if not self._checks:
            return self._failure or "still looking at the run"
        failed = sum(check.has_failed for check in self._checks)
        return f"mend what is marked with ✖ first ({failed})" if failed else ""

    def _draw(self) -> None:
        view = self.query_one(LineView)
        lines = [] if self._failure else check_lines(self._checks, view.line_width)
        view.show_lines(len(lines), lines.__getitem__)


_MARKS = {True: ("✓ ", GOOD), False: ("✖ ", RED), None: ("? ", DIM)}


def check_lines(checks: Sequence[Check], width: int) -> list[Content]:
    """A line a check with its mark, and under it what to do or to know."""
    if not checks:
        return [Content.styled("looking at the run …", DIM)]
    lines: list[Content] = []
    for check in checks:
        mark, style = _MARKS[check.ok]
        lines += wrapped(Content(foreign(check.what)), width, first=mark, rest="  ", style=style)
        if check.mend:
            mend = Content.styled(foreign(check.mend), "" if check.has_failed else DIM)
            lines += wrapped(mend, width, first="  → ", rest="    ")
    return lines
