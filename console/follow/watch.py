"""Telling that a run's directory changed: the kernel's notices merged with a slow tick."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from watchfiles import awatch

TICK_SECONDS = 2.0
"""How often to look even if nothing seems to change: a lost trainer, NFS, no inotify."""
BATCH_SECONDS = 0.1
"""Changes that come close together are one; the longest that a change waits."""
_QUIET_SECONDS = 0.05
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
    Ends only by being closed or cancelled; its thread ends within 0.1 s then.
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
            except (OSError, RuntimeError, UnicodeEncodeError, ExceptionGroup) as error:
                note = f"changes are seen every {tick_seconds:g} s only: {_reason(error)}"
        yield Wake(is_tick=True, note=note)
        await asyncio.sleep(tick_seconds)


async def _watched(
    directory: Path, identity: tuple[int, int], tick_seconds: float
) -> AsyncGenerator[Wake, None]:
    """Wakes for as long as `directory` is the one with this identity."""
    stop = asyncio.Event()
    changes = awatch(
        directory,
        watch_filter=None,
        debounce=int(BATCH_SECONDS * 1000),
        step=int(_QUIET_SECONDS * 1000),
        rust_timeout=int(tick_seconds * 1000),
        yield_on_timeout=True,
        recursive=False,
        stop_event=stop,
    )
    last = time.monotonic()
    try:
        async for changed in changes:
            is_news = any(is_relevant(path) for _, path in changed)
            # A long save touches its half-written file all the time: that must not starve the tick.
            if is_news or time.monotonic() - last >= tick_seconds:
                # One change after a pause is seen at once; of many, three a second are enough.
                await asyncio.sleep(last + PAUSE_SECONDS - time.monotonic())
                last = time.monotonic()
                yield Wake(is_tick=not is_news)
            if _identity(directory) != identity:
                return
    finally:
        stop.set()
        await changes.aclose()


def _reason(error: Exception) -> str:
    """Why; what fails in the watcher's thread comes back in a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, UnicodeEncodeError):
        return "the name of its directory is no UTF-8"
    return str(error) or type(error).__name__


def is_relevant(path: str) -> bool:
    """Whether a file that changed is one to look at: half-written ones are not."""
    return not path.endswith(".partial")


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        stat = directory.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
