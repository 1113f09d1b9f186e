"""The terminal that may go away under the console: writing on is no error, and it is noticed."""

import contextlib
import select
import sys
from typing import IO

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

_MOUSE_MODES = (1000, 1002, 1006)
"""Button presses, motion while one is held, and reports that have no widest column."""


class _PatientFile:
    """A text file that takes writes for ever: what a lost terminal doesn't take is dropped.

    The driver writes from a thread behind a short queue; were the thread to end with an error,
    the queue would fill and the console would hang instead of leaving.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """Textual's own driver, except that it outlives its terminal."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = _PatientFile(sys.__stderr__ or sys.stderr)  # type: ignore[assignment]
        self._is_lent = False
        """Whether another program has the terminal: nothing is written then."""

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._is_lent = True

    def resume_application_mode(self) -> None:
        self._is_lent = False
        super().resume_application_mode()

    def write(self, data: str) -> None:
        """Drop what is drawn while the terminal is lent: all is drawn anew when it is back."""
        if not self._is_lent:
            super().write(data)

    def _enable_mouse_support(self) -> None:
        """Presses, drags and the wheel, but no mere motion: that would be traffic all the time."""
        self._set_mouse("h")

    def _disable_mouse_support(self) -> None:
        self._set_mouse("l")

    def _set_mouse(self, switch: str) -> None:
        if self._mouse:
            self.write("".join(f"\x1b[?{mode}{switch}" for mode in _MOUSE_MODES))
            self.flush()


def is_gone(fd: int) -> bool:
    """Whether the terminal at this descriptor has hung up. Never blocks."""
    poll = select.poll()
    try:
        poll.register(fd, select.POLLIN)
        events = poll.poll(0)
    except (OSError, ValueError):
        return True
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in events)


def say(words: str) -> None:
    """Print to stderr; a terminal that is gone is no error."""
    with contextlib.suppress(OSError, ValueError):
        print(words, file=sys.stderr, flush=True)
