"""What the trainer says of itself: `.state.json`, and lines for a person on stdout."""

import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.persistence.output import print_line
from trainer.rundir.names import shown, told
from trainer.rundir.records.record_file import Mended
from trainer.rundir.state import State, write_state

FOREIGN_HAND = "was touched by another process"
_STATE_SECONDS = 1.0
_LINE_SECONDS = 10.0


class Reporter:
    """Keeps the current `State`; writes it at each change of what is done, else once a second."""

    def __init__(
        self,
        path: Path,
        state: State,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.state = state
        self._path = path
        self._monotonic = monotonic
        self._wall = wall
        self._alarms: dict[str, str] = {}
        self._written = self._said = -_LINE_SECONDS

    def now(self, **changes: Any) -> None:
        """Change the state and write it at once."""
        fit: dict[str, Any] = {k: told(v) if isinstance(v, str) else v for k, v in changes.items()}
        self.state = dataclasses.replace(self.state, **fit)
        self._write()

    def soon(self, view: Callable[[], dict[str, Any]]) -> None:
        """Change and write the state if the last write is a second old; else `view` isn't made."""
        if self._monotonic() - self._written >= _STATE_SECONDS:
            self.now(**view())

    def alarm(self, topic: str, what: str) -> None:
        """Tell in state and log what is wrong, until it is `over`; one message a topic."""
        what = told(what)
        if self._alarms.get(topic) != what:
            self._alarms[topic] = what
            self.say(f"ALARM {topic}: {what}")
            self._show_alarms()

    def mended(self, mended: Mended | None) -> None:
        """Tell of a sidecar that somebody had removed or changed; it stays told."""
        if mended is not None:
            self.alarm(f"{mended.path.name} {FOREIGN_HAND}", str(mended))

    def over(self, topic: str) -> None:
        """Take the topic's alarm back, if there is one."""
        if self._alarms.pop(topic, None) is not None:
            self.say(f"over: {topic}")
            self._show_alarms()

    def note(self, message: str) -> None:
        """Add something to know that is no alarm, in state and log."""
        self.say(message)
        self.now(notes=(*self.state.notes, told(message)))

    def say(self, line: str) -> None:
        """One line with the time in the log."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._wall()))
        print_line(f"{stamp} {told(line)}")
        self._said = self._monotonic()

    def say_at_times(self, line: Callable[[], str]) -> None:
        """A line if none was said for ten seconds."""
        if self._monotonic() - self._said >= _LINE_SECONDS:
            self.say(line())

    def _show_alarms(self) -> None:
        self.now(alarms=tuple(f"{topic}: {what}" for topic, what in self._alarms.items()))

    def _write(self) -> None:
        self._written = self._monotonic()
        self.state = dataclasses.replace(self.state, t=self._wall())
        try:
            write_state(self._path, self.state)
        except OSError as error:
            print_line(f"{shown(self._path)}: {error.strerror}", to=sys.stderr)
