"""Telling that a run's directory changed: the kernel's notices merged with a slow tick."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import dataclass
from pathlib import Path

from console.follow.inotify import Notices

TICK_SECONDS = 2.0
"""How often to look even if nothing seems to change: a lost trainer, NFS, no inotify."""
_BATCH_SECONDS = 0.05
"""Changes that come within this are one."""
PAUSE_SECONDS = 0.3
"""From one wake to the next, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """A reason to look at the run again."""

    is_tick: bool = False
    note: str = ""
    """Why changes can't be noticed at once, for a person; empty where they can."""


async def wakes(
    directory: Path, *, tick_seconds: float = TICK_SECONDS
) -> AsyncGenerator[Wake, None]:
    """Yield whenever something in `directory` changed, and every `tick_seconds` if nothing did.

    The directory is watched, not its files (a file that is replaced is another one to the
    kernel) and none of its folders. It may be missing at first, and go and come back later.
    Ends only by being closed or cancelled.
    """
    while True:
        note = ""
        if (identity := _identity(directory)) is not None:
            try:
                async with aclosing(_watched(directory, identity, tick_seconds)) as watched:
                    async for wake in watched:
                        yield wake
            except FileNotFoundError:
                pass
            except OSError as error:
                note = f"changes are seen every {tick_seconds:g} s only: {error.strerror or error}"
        yield Wake(is_tick=True, note=note)
        await asyncio.sleep(tick_seconds)


async def _watched(
    directory: Path, identity: tuple[int, int], tick_seconds: float
) -> AsyncGenerator[Wake, None]:
    """Wakes for as long as `directory` is the one with this identity."""
    last = time.monotonic()
    with closing(Notices(directory)) as notices:
        while _identity(directory) == identity:
            names: set[str] = set()
            if await notices.wait(max(0.0, last + tick_seconds - time.monotonic())):
                # One change after a pause is seen at once; of many, three a second are enough.
                pause = last + PAUSE_SECONDS - time.monotonic()
                await asyncio.sleep(max(_BATCH_SECONDS, pause))
                names = notices.take()
            is_news = any(map(is_relevant, names))
            # A long save touches its half-written file all the time: that must not starve the tick.
            if is_news or time.monotonic() - last >= tick_seconds:
                last = time.monotonic()
                yield Wake(is_tick=not is_news)


def is_relevant(name: str) -> bool:
    """Whether a file that changed is one to look at: half-written ones are not."""
    return not name.endswith(".partial")


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        stat = directory.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
