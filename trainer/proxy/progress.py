"""What a long preparation reports while it works, and how it is given up."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

T = TypeVar("T")

_THREAD = "work that can't be interrupted"
_CHECK_SECONDS = 0.1


class Progress(Protocol):
    """Called often, with how far the work is; it may raise to give up."""

    def __call__(self, fraction: float, what: str) -> None:
        """`fraction` from 0 to 1 of the piece of work that `what` names."""


def ignore(fraction: float, what: str) -> None:
    """A `Progress` that nobody watches."""


def interruptible(work: Callable[[], T], check: Callable[[], None]) -> T:
    """The result of work that a library does without looking up; `check` is called meanwhile.

    It may raise to give up: the work then goes on in its thread, and whoever ends the process asks
    `is_work_left`.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            result.set_exception(error)

    thread = threading.Thread(target=run, name=_THREAD, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_CHECK_SECONDS)
        check()
    return result.result()


def is_work_left() -> bool:
    """Whether work that was given up is still under way; an orderly end would trip over it."""
    return any(thread.name == _THREAD for thread in threading.enumerate())
