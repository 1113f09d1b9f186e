"""Whether a crashed trainer is started again: with pauses, and not for ever; pure."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from console.operations.protocol import Outcome
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import ENDED, State

MOST_CRASHES = 3
"""In a row without a newer checkpoint: a fourth start would not go better."""
_PAUSES_SECONDS = (10.0, 60.0)
"""Before the first and the second start in such a row."""
_COUNTDOWN_SECONDS = 10
"""What is left of a pause is told in tens, so that the screen is seldom drawn for it."""
_NO_CRASHES = frozenset(
    {
        *(code for code in Exit if code is not Exit.ERROR),
        # by the signal itself: a foreign trainer without a handler
        128 - Exit.TERMINATED,
        128 - Exit.INTERRUPTED,
    }
)
"""Ends that a person has to judge, or that were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """What is remembered of the crashes so far."""

    crashes: int = 0
    """In a row without progress."""
    crashed_at: float = 0.0
    """Monotonic seconds of the last."""
    newest_step: int = -1
    """Of the newest checkpoint at the last crash."""
    is_counted: bool = False
    """The crash that is there now is in the count."""
    refusal: str = ""
    """Why the start that was due did not come about."""

    @property
    def is_waiting(self) -> bool:
        """Whether a start is due after the pause."""
        return self.is_counted and self.crashes < MOST_CRASHES and not self.refusal

    @property
    def due_at(self) -> float:
        """Monotonic seconds of the next start."""
        return self.crashed_at + _PAUSES_SECONDS[min(self.crashes, len(_PAUSES_SECONDS)) - 1]


def has_crashed(state: State | None, *, is_held: bool, child_exit: int | None = None) -> bool:
    """Whether the last trainer ended by a crash: by an exit that has no meaning, or without a word.

    `child_exit` is of the trainer that this console started, where the state has no end of that
    one: a foreign trainer may write none. Every other end is a person's to judge, or was asked for.
    """
    if is_held:
        return False
    if child_exit is not None:
        return child_exit not in _NO_CRASHES
    if state is None or not state.doing:
        return False
    if state.doing not in ENDED:
        return True
    return state.exit_code is not None and state.exit_code not in _NO_CRASHES


def after_crash(restarts: Restarts, *, newest_step: int, now: float) -> Restarts:
    """A crash more; a newer checkpoint since the one before begins a new row."""
    is_progress = newest_step > restarts.newest_step
    crashes = 1 if is_progress else restarts.crashes + 1
    return Restarts(crashes=crashes, crashed_at=now, newest_step=newest_step, is_counted=True)


def outlook(restarts: Restarts, now: float) -> str:
    """What comes after the crash that is there, for a person; empty where there is none."""
    if not restarts.is_counted:
        return ""
    if restarts.refusal:
        return f"not started again: {restarts.refusal}"
    if not restarts.is_waiting:
        return (
            f"not started again: {restarts.crashes} crashes without a newer checkpoint; r resumes"
        )
    left_seconds = max(restarts.due_at - now, 0.0)
    tens = math.ceil(left_seconds / _COUNTDOWN_SECONDS) * _COUNTDOWN_SECONDS
    when = f"within {tens} s" if tens else "now"
    return f"this console starts it again {when} (crash {restarts.crashes} of {MOST_CRASHES})"


class Restarter:
    """Looks at the run at each change, and starts its trainer again where that is due."""

    def __init__(
        self,
        *,
        is_wanted: Callable[[], bool],
        look: Callable[[], tuple[bool, int]],
        launch: Callable[[], Outcome],
        monotonic: Callable[[], float],
    ) -> None:
        """`look`: whether the last trainer has crashed, and the newest checkpoint's step.

        `is_wanted` is asked at each change, since the run's settings may say another thing by then.
        """
        self._is_wanted = is_wanted
        self._look = look
        self._launch = launch
        self._monotonic = monotonic
        self._restarts = Restarts()
        self.outlook = ""
        """What comes after the crash that was found last, for a person; empty: there is none."""

    @property
    def is_waiting(self) -> bool:
        """Whether a start is due after a pause."""
        return self._restarts.is_waiting

    def consider(self) -> None:
        """Start the trainer if its pause after a crash is over."""
        is_crashed, newest_step = self._look() if self._is_wanted() else (False, -1)
        now = self._monotonic()
        if not is_crashed:
            self._restarts = replace(self._restarts, is_counted=False, refusal="")
        elif not self._restarts.is_counted:
            self._restarts = after_crash(self._restarts, newest_step=newest_step, now=now)
        if self._restarts.is_waiting and now >= self._restarts.due_at:
            self._restarts = self._started()
        self.outlook = outlook(self._restarts, now)

    def _started(self) -> Restarts:
        outcome = self._launch()
        if outcome.ok:  # if it is gone at the next look already, that is another crash
            return replace(self._restarts, is_counted=False)
        return replace(self._restarts, refusal=outcome.message)


async def restarting(
    changes: AsyncGenerator[None, None], restarter: Restarter
) -> AsyncGenerator[None, None]:
    """The same changes, with a look at each whether to start the trainer again."""
    async with aclosing(changes):
        async for _ in changes:
            await asyncio.to_thread(restarter.consider)
            yield
