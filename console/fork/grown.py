"""What became so far of a branch that this console makes."""

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A branch, and what became of it so far."""

    name: str
    path: Path | None = None
    """None: not made yet."""
    words: str = "waits"
    is_done: bool = False
    problem: str = ""

    def given_up(self, problem: str) -> "Grown":
        """Nobody goes on with it: not made, or left as far as it has come."""
        if self.is_done:
            return self
        if self.path is None:
            return replace(self, words="is not made", is_done=True, problem=problem)
        return replace(self, is_done=True, problem=f"it goes no further from here: {problem}")
