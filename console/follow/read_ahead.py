"""Reading a long history in child processes, while this one loads the console.

Parsing 200,000 records holds the interpreter's lock for a quarter of a second, and so does
loading Textual: in two processes they take half the time, and the screen answers keys meanwhile.
A history that is longer still is read by two, from its beginning and from its middle.
"""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from console.follow.handed_over import HandedOver
from console.follow.history_cache import HistoryCache, cache_of
from console.follow.history_parts import (
    ReadHistory,
    find_cut,
    read_behind,
    read_history,
    read_on,
)
from trainer.rundir.layout import RunDirectory

T = TypeVar("T")

WORTH_A_CHILD_BYTES = 8 << 20
WORTH_TWO_BYTES = 96 << 20
_NICER = 5
"""Than the console: two children on two cores, whose first screen would wait for them."""


class Child(Generic[T]):
    """A process that gives one thing; forked, so only while this process has no other thread."""

    def __init__(self, make: Callable[[], T], *, nicer: int = 0) -> None:
        """`nicer` than this process; raises `OSError` where there may be no more of them."""
        context = multiprocessing.get_context("fork")
        self._made: HandedOver[T] = HandedOver(context)
        self._process = context.Process(target=_give, args=(make, self._made, nicer), daemon=True)
        self._process.start()
        self._made.close_sender()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def take(self, timeout_seconds: float) -> T | None:
        """What it made, `None` if that takes longer.

        Raises:
            EOFError: the child is gone without a result.
        """
        try:
            made = self._made.take(timeout_seconds)
        except EOFError:
            self.leave()
            raise
        if made is not None:
            self._process.join()
        return made

    def leave(self) -> None:
        """Do without it."""
        self._process.kill()
        self._process.join()
        self._made.close()


class ReadAhead:
    """The children that read one history."""

    def __init__(
        self, path: Path, cut: int | None = None, cache: HistoryCache | None = None
    ) -> None:
        """With `cut`, the end of a record, a second one reads what lies behind it; without, what
        the `cache` knows need not be read. There it is kept, too.
        """
        self._cache = cache
        self._second: Child[ReadHistory] | None = None
        if cut is None:
            self._first = Child(lambda: _read(path, cache))
        else:
            nicer = _NICER if len(os.sched_getaffinity(0)) <= 2 else 0
            self._first = Child(lambda: read_history(path, cut), nicer=nicer)
            self._second = Child(lambda: read_behind(path, cut), nicer=nicer)
        self._read: ReadHistory | None = None

    @property
    def pids(self) -> list[int]:
        """Of the children."""
        return [child.pid for child in (self._first, self._second) if child is not None]

    def take(self, timeout_seconds: float) -> ReadHistory | None:
        """What they read, `None` if that takes longer; of the second one only what is known to
        be as if it had been read in a row.

        Raises:
            EOFError: the first child is gone without a result.
        """
        read = self._take(timeout_seconds)
        if read is not None and self._cache is not None:
            self._cache.keep(read)
        return read

    def _take(self, timeout_seconds: float) -> ReadHistory | None:
        if self._read is None:
            self._read = self._take_first(timeout_seconds)
        if self._read is None or self._second is None:
            return self._read
        try:
            later = self._second.take(timeout_seconds)
        except EOFError:
            return self._read
        return None if later is None else self._read.joined(later)

    def _take_first(self, timeout_seconds: float) -> ReadHistory | None:
        try:
            return self._first.take(timeout_seconds)
        except EOFError:
            if self._second is not None:
                self._second.leave()
            raise


def begin_reading(
    arguments: Sequence[str], environment: Mapping[str, str] = os.environ
) -> ReadAhead | None:
    """Read ahead in the run that a command line starts with, before what shows it is loaded."""
    if not arguments:
        return None
    run = RunDirectory(Path(arguments[0]))
    return read_ahead(run.loss, cache_of(run, environment))


def read_ahead(path: Path, cache: HistoryCache | None = None) -> ReadAhead | None:
    """Start the children where the history is long enough to be worth one."""
    try:
        n_bytes = path.stat().st_size
        if n_bytes < WORTH_A_CHILD_BYTES:
            return None
        is_worth_two = n_bytes >= WORTH_TWO_BYTES and not (cache is not None and cache.is_there)
        return ReadAhead(path, find_cut(path, n_bytes) if is_worth_two else None, cache)
    except OSError:
        return None


def _read(path: Path, cache: HistoryCache | None) -> ReadHistory:
    known = cache.read(path) if cache is not None else None
    return read_history(path) if known is None else read_on(known)


def _give(make: Callable[[], T], made: "HandedOver[T]", nicer: int) -> None:
    os.nice(nicer)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # the console left
        made.give(make())
