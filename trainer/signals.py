"""The two signals and Ctrl-C: handlers that set flags and nothing else.

The only module that installs handlers. It imports neither torch nor anything slow, since until
it has run, SIGUSR1 kills the process.
"""

import signal
import time
from types import FrameType

from trainer.rundir.outcomes import Exit


def leave_interrupts_to_parent() -> None:
    """For a process that works for another one: Ctrl-C reaches both, and only one decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class StopRequested(Exception):  # noqa: N818 - a wish of the operator, no error
    """Raised at a safe point while loading: nothing was trained yet, there is nothing to save."""


class Signals:
    """What the operator has asked for since the start."""

    def __init__(self) -> None:
        self.stop_exit: Exit | None = None
        """How to exit, once a stop was asked for: by the first such signal."""
        self.n_stops = 0
        self.asked_at: float | None = None
        """When the first of them came, monotonic."""
        self.n_checkpoints = 0
        """SIGUSR1s received; those before a save are answered by it together."""

    def install(self) -> None:
        """Take the signals from here on, and those that the launcher held back until now."""
        signal.signal(signal.SIGTERM, self.on_stop)
        signal.signal(signal.SIGINT, self.on_stop)
        signal.signal(signal.SIGUSR1, self.on_checkpoint)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        held_back = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held_back)

    def ignore(self) -> None:
        """Of a rank that follows another one, which hears them for both."""
        numbers = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    @property
    def wants_stop(self) -> bool:
        return self.n_stops > 0

    @property
    def wants_stop_at_once(self) -> bool:
        """A second stop: skip the audit."""
        return self.n_stops > 1

    def stop_if_asked(self) -> None:
        """For the loading phases: raise `StopRequested` where a stop was asked for."""
        if self.wants_stop:
            raise StopRequested

    def on_stop(self, number: int, frame: FrameType | None) -> None:
        """SIGTERM, SIGINT."""
        self.n_stops += 1
        if self.stop_exit is None:
            self.asked_at = time.monotonic()
            terminated = number == signal.SIGTERM
            self.stop_exit = Exit.TERMINATED if terminated else Exit.INTERRUPTED

    def on_checkpoint(self, number: int, frame: FrameType | None) -> None:
        """SIGUSR1."""
        self.n_checkpoints += 1
