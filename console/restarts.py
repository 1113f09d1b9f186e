"""Whether a crashed trainer is started again: with pauses, and not for ever; pure."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from trainer.rundir.outcomes import Exit
from trainer.rundir.state import ENDED, State

MOST_CRASHES = 3
"""In a row without a newer checkpoint: a fourth start would not go better."""
_PAUSES_SECONDS = (10.0, 60.0)
"""Before the first and the second start in such a row."""


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
    is_waiting: bool = False
    """A start is due after the pause."""

    @property
    def due_at(self) -> float:
        """Monotonic seconds of the next start."""
        return self.crashed_at + _PAUSES_SECONDS[min(self.crashes, len(_PAUSES_SECONDS)) - 1]


def has_crashed(state: State | None, *, is_held: bool) -> bool:
    """Whether the last trainer ended by a crash: by exit 1, or without a word.

    Every other end is a person's to judge, or was asked for.
    """
    if is_held or state is None or not state.doing:
        return False
    return state.doing not in ENDED or state.exit_code == Exit.ERROR


def after_crash(restarts: Restarts, *, newest_step: int, now: float) -> Restarts:
    """A crash more; a newer checkpoint since the one before begins a new row."""
    is_progress = newest_step > restarts.newest_step
    crashes = 1 if is_progress else restarts.crashes + 1
    return Restarts(
        crashes=crashes,
        crashed_at=now,
        newest_step=newest_step,
        is_counted=True,
        is_waiting=crashes < MOST_CRASHES,
    )


class Restarter:
    """Looks at the run at each change, and starts its trainer again where that is due."""

    def __init__(
        self,
        *,
        look: Callable[[], tuple[bool, int]],
        launch: Callable[[], object],
        monotonic: Callable[[], float],
    ) -> None:
        """`look`: whether the last trainer has crashed, and the newest checkpoint's step."""
        self._look = look
        self._launch = launch
        self._monotonic = monotonic
        self._restarts = Restarts()

    def consider(self) -> None:
        """Start the trainer if its pause after a crash is over."""
        is_crashed, newest_step = self._look()
        if not is_crashed:
            self._restarts = replace(self._restarts, is_counted=False, is_waiting=False)
            return
        now = self._monotonic()
        if not self._restarts.is_counted:
            self._restarts = after_crash(self._restarts, newest_step=newest_step, now=now)
        if self._restarts.is_waiting and now >= self._restarts.due_at:
            self._restarts = replace(self._restarts, is_waiting=False)
            self._launch()


async def restarting(
    changes: AsyncGenerator[None, None], restarter: Restarter
) -> AsyncGenerator[None, None]:
    """The same changes, with a look at each whether to start the trainer again."""
    async with aclosing(changes):
        async for _ in changes:
            await asyncio.to_thread(restarter.consider)
            yield
