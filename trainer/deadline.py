"""How long a stop may take, and when a run is to end by itself: a step that would not be saved in
time is given up, and the one before it is saved.

Slurm gives 30 s between SIGTERM and SIGKILL, a spot instance 30 to 120, systemd 90.
"""

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from trainer.rundir.config.settings import TrainSettings
from trainer.signals import Signals

_STEPS = 8
"""The slowest of the last ones is what a step takes."""
_MARGIN = 1.25
"""A save takes at most so many times what the last one took."""
_LAST_WORDS_SECONDS = 1.0
"""For what comes after the save."""
_UNKNOWN_SAVE_BYTES_A_SECOND = 100e6
"""Of the first save of a start: a slow disk's."""
_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


class StepGivenUp(Exception):  # noqa: N818 - a wish of the operator, no error
    """Before the update changed anything: the engine is at the step before."""


def seconds_of(text: str) -> float:
    """`11h50m`, `90m`, `2d`, `45s` as seconds; raises `ValueError`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration, as 11h50m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


@dataclass(kw_only=True)
class Deadline:
    """Of one start."""

    signals: Signals
    within_seconds: float = 0.0
    """From the first stop signal to the end; 0: as long as it takes."""
    ends_at: float | None = None
    """Monotonic; `None`: the run has no limit of its own."""
    save_seconds: Callable[[], float] = field(default=lambda: 0.0)
    """What the last save took, or one is expected to."""
    is_alone: bool = True
    """Whether no other rank is in the step, which would wait for this one."""
    monotonic: Callable[[], float] = time.monotonic
    is_reached: bool = False
    """Whether the run's own limit leaves no time for another step: it stays so."""
    _steps: deque[float] = field(default_factory=lambda: deque(maxlen=_STEPS))
    _began: float = 0.0

    def end_within(self, moment: float) -> None:
        """By a monotonic time, or where there is an earlier one, by that."""
        self.ends_at = moment if self.ends_at is None else min(moment, self.ends_at)

    def look(self) -> bool:
        """Before a step: whether the run's own limit leaves no time for it."""
        if self.ends_at is not None:
            needed = self._step_seconds + self._closing_seconds
            self.is_reached |= self.monotonic() + needed >= self.ends_at
        return self.is_reached

    def begin_step(self) -> None:
        """A step begins now."""
        self._began = self.monotonic()

    def end_step(self) -> None:
        """It is done: the next ones take as long."""
        self._steps.append(self.monotonic() - self._began)

    def before_micro_step(self) -> None:
        """Raise `StepGivenUp` where a stop was asked for and the step can't be saved in time."""
        end, now = self._stop_by, self.monotonic()
        if end is None or not self.is_alone:
            return
        done_at = self._began + max(self._step_seconds, now - self._began)
        if done_at + self._closing_seconds > end:
            raise StepGivenUp(f"given up after {now - self._began:.1f} s")

    def leaves_no_audit(self) -> bool:
        """Whether what is left of a stop's time is for its last words."""
        end = self._stop_by if self._stop_by is not None else self.ends_at
        return end is not None and self.monotonic() + _LAST_WORDS_SECONDS >= end

    @property
    def _stop_by(self) -> float | None:
        """By when a stop that was asked for has to be over."""
        if self.signals.asked_at is None or not self.within_seconds:
            return None
        return self.signals.asked_at + self.within_seconds

    @property
    def _step_seconds(self) -> float:
        return max(self._steps, default=0.0)

    @property
    def _closing_seconds(self) -> float:
        return _MARGIN * self.save_seconds() + _LAST_WORDS_SECONDS


def deadline_of(
    settings: TrainSettings,
    signals: Signals,
    *,
    save_seconds: Callable[[], float],
    is_alone: bool,
) -> Deadline:
    """By `train.stop_within_seconds` and `train.end_at`."""
    made = Deadline(
        signals=signals,
        within_seconds=settings.stop_within_seconds,
        save_seconds=save_seconds,
        is_alone=is_alone,
    )
    if settings.end_at:
        left = datetime.fromisoformat(settings.end_at).timestamp() - time.time()
        made.end_within(time.monotonic() + left)
    return made


def expected_save(n_bytes: int, last_seconds: float | None) -> float:
    """Seconds that a save takes; of the first one of a start, what a slow disk needs."""
    return n_bytes / _UNKNOWN_SAVE_BYTES_A_SECOND if last_seconds is None else last_seconds
