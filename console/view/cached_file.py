"""Reading files that anyone may have written, and that change while they are read."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.records.record_file import News, RecordTail

T = TypeVar("T")

CHUNK_BYTES = 256 << 10
"""Read and parsed at a time: what stays in a core's cache takes half the time of a megabyte."""


def read_news(tail: RecordTail[T]) -> News[T]:
    """The next 256 KiB at most; a file that can't be read has no news."""
    return tail.look(CHUNK_BYTES)


def read_settings(path: Path) -> tuple[Settings | None, str]:
    """The run's settings, or why they can't be read."""
    try:
        return load_settings(path), ""
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return None, str(error)


class CachedFile(Generic[T]):
    """What a file says, read anew only when it is another one or was written to."""

    def __init__(self, path: Path, load: Callable[[Path], T]) -> None:
        self._path = path
        self._load = load
        self._seen: tuple[int, int, int] | None = (0, 0, 0)
        self._value: T

    def look(self) -> T:
        """The same object until the file changes."""
        try:
            stat = self._path.stat()
            seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        except OSError:
            seen = None
        if seen != self._seen:
            self._value = self._load(self._path)
            self._seen = seen
        return self._value
