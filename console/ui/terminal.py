"""The terminal that may go away under the console: writing on is no error, and it is noticed."""

import codecs
import contextlib
import os
import select
import sys
import termios
from typing import IO

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

_MOUSE_MODES = (1000, 1002, 1006)
"""Button presses, motion while one is held, and reports that have no widest column."""


_UNTOLD_SIZE = (24, 80)
"""Rows and columns."""

_TICK_MS = 100
_TICKS = 10
"""After a key, for what the parser still waits for: a lone Escape. Then none till the next key."""


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


def _give_size() -> None:
    """A terminal that nobody has told a size has none; Textual and what it draws with then take two
    that differ, and lay out anew for ever. Whoever tells one later is heard.
    """
    for stream in filter(None, (sys.__stdin__, sys.__stdout__, sys.__stderr__)):
        with contextlib.suppress(OSError, ValueError, termios.error):
            if termios.tcgetwinsize(stream.fileno()) == (0, 0):
                termios.tcsetwinsize(stream.fileno(), _UNTOLD_SIZE)


class TerminalDriver(LinuxDriver):
    """Textual's own driver, except that it outlives its terminal, and sleeps while no key comes
    (Textual's looks ten times a second).
    """

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        _give_size()
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = _PatientFile(sys.__stderr__ or sys.stderr)  # type: ignore[assignment]
        self._leaving = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        """Readable while the thread that waits for keys is to end."""
        self._is_lent = False
        """Whether another program has the terminal: nothing is written then."""

    def run_input_thread(self) -> None:
        """Send what is typed, until `exit_event` is set."""
        parser, decoder = XTermParser(self._debug), codecs.getincrementaldecoder("utf-8")()
        poll = select.poll()
        poll.register(self.fileno, select.POLLIN)
        poll.register(self._leaving, select.POLLIN)
        n_ticks = _TICKS
        while not self.exit_event.is_set():
            ready = poll.poll(_TICK_MS if n_ticks else None)
            n_ticks = _TICKS if ready else n_ticks - 1
            if any(fd == self.fileno for fd, _ in ready):
                data = os.read(self.fileno, 4096)
                if not data:  # the terminal is gone, which the app finds out by itself
                    return
                for message in parser.feed(decoder.decode(data)):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def disable_input(self) -> None:
        """End the thread that waits for keys, at once."""
        os.eventfd_write(self._leaving, 1)
        super().disable_input()
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._leaving)

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
