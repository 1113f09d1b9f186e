"""What the steps of the wizard have in common."""

from collections.abc import Sequence
from typing import ClassVar

from textual.containers import Vertical
from textual.content import Content

from console.ui.theme import DIM

PAGE_KEYS = "n next   b back   Esc cancel"
FIELD_PAGE_KEYS = "Ctrl+→ next   Ctrl+← back"
"""Where letters are typed."""


class Step(Vertical):
    """One step: words about it, and how its keys are called."""

    WORDS: ClassVar[str]
    """What this step is about and what will happen."""
    KEYS: ClassVar[str]
    """Where no field of text has the focus."""

    def keys(self) -> str:
        """The keys that count where the focus is."""
        return self.KEYS

    def enter(self) -> None:
        """Take the focus: keys count from now on."""

    def forget(self) -> bool:
        """Take back what is being typed; False where nothing is."""
        return False

    def problem(self) -> str:
        """Why it can't go on from here; empty if it can."""
        return ""


def wrapped(
    content: Content, width: int, *, first: str = "", rest: str = "", style: str = DIM
) -> list[Content]:
    """The content in lines of at most `width` cells behind `first`, and then behind `rest`."""
    lines = content.wrap(max(width - max(len(first), len(rest)), 1)) or [Content()]
    leads: Sequence[str] = [first, *([rest] * (len(lines) - 1))]
    return [Content.assemble((lead, style), line) for lead, line in zip(leads, lines, strict=True)]


TITLES = ("Preconditions", "Policy", "When", "Review", "Progress")
CHECKS, POLICY, WHEN, REVIEW, PROGRESS = range(len(TITLES))


def steps_line(at: int, width: int) -> Content:
    """` 1 Preconditions › 2 Policy …`, the one that is shown reversed."""
    names = [f" {number} {title} " for number, title in enumerate(TITLES, start=1)]
    if sum(map(len, names)) + len(names) - 1 > width:
        return Content.styled(f"step {at + 1} of {len(names)}: {TITLES[at]}", "bold")
    parts: list[tuple[str, str]] = []
    for index, name in enumerate(names):
        if index:
            parts.append(("›", DIM))
        parts.append((name, "bold reverse" if index == at else DIM))
    return Content.assemble(*parts)
