"""Count what is prepared of all sources, and how fast it goes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from trainer.proxy.progress import Progress
from trainer.rundir.preparing import Preparing
from trainer.rundir.sources.documents import SourceFiles

_RATE_SECONDS = 2.0
"""Before that, how fast it goes is not known."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How much of a source's files is read: whole files, and bytes."""

    files: int = 0
    bytes: int = 0


def extent_of(files: SourceFiles) -> Reached:
    """All of them."""
    return Reached(len(files.files), sum(file.size for file in files.files))


class Meter:
    """Told what there is to do, and what is done; `preparing` is how it stands."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._whole: dict[str, Reached] = {}
        self._done: dict[str, Reached] = {}
        self._source = ""
        self._began_at: float | None = None
        self._bytes_before = 0
        """Prepared before this start; they say nothing of how fast it goes."""

    def expect(self, name: str, whole: Reached) -> None:
        """A source that is to be prepared."""
        self._whole[name] = whole

    def begin(self, name: str, whole: Reached, done: Reached) -> None:
        """A source is prepared from now on, of which so much is done already."""
        if self._began_at is None:
            self._began_at = self._monotonic()
        self._source = name
        self._bytes_before += done.bytes - self._done.get(name, Reached()).bytes
        self._whole[name], self._done[name] = whole, done

    def reach(self, name: str, done: Reached) -> None:
        """So much of it is done, and will still be after a kill."""
        self._done[name] = done

    @property
    def preparing(self) -> Preparing | None:
        """`None`: nothing is prepared yet."""
        if self._began_at is None:
            return None
        whole, done = list(self._whole.values()), list(self._done.values())
        n_bytes, n_done = sum(w.bytes for w in whole), sum(d.bytes for d in done)
        seconds = self._monotonic() - self._began_at
        n_now = n_done - self._bytes_before
        rate = n_now / seconds if seconds >= _RATE_SECONDS and n_now > 0 else None
        return Preparing(
            source=self._source,
            files_done=sum(d.files for d in done),
            files=sum(w.files for w in whole),
            bytes_done=n_done,
            bytes=n_bytes,
            bytes_per_second=rate,
            seconds_left=(n_bytes - n_done) / rate if rate else None,
        )


@dataclass(frozen=True, slots=True)
class Metered:
    """A `Progress` with a meter beside it, for work that can be measured in bytes."""

    progress: Progress
    meter: Meter

    def __call__(self, fraction: float, what: str) -> None:
        """As `Progress`."""
        self.progress(fraction, what)


def meter_of(progress: Progress) -> Meter:
    """The one beside it, or one that nobody reads."""
    return progress.meter if isinstance(progress, Metered) else Meter()
