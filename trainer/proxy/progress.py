"""What a long preparation reports while it works."""

from typing import Protocol


class Progress(Protocol):
    """Called often, with how far the work is; it may raise to give up."""

    def __call__(self, fraction: float, what: str) -> None:
        """`fraction` from 0 to 1 of the piece of work that `what` names."""


def ignore(fraction: float, what: str) -> None:
    """A `Progress` that nobody watches."""
