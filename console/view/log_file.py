"""Lines of `trainer.log` from any place of it, forwards and backwards, a block at a time.

Nothing is read but the blocks asked for: a log of many gigabytes opens like a short one.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from pathlib import Path

from console.view.log_tail import final_state
from trainer.rundir.reading import reading

_BLOCK_BYTES = 256 << 10
"""Searched at a time: some two milliseconds in which the screen can't be drawn."""
_SMALL_BYTES = 64 << 10
LONGEST_SHOWN = 10_000
"""Characters of a line that can be shown here; all of it in a pager."""
_LONGEST_LINE = 4 << 20
"""A longer one (a log of zeros, say) is cut into several: memory stays bounded."""

Progress = Callable[[int], bool]
"""Told the byte that was reached after each block; False ends the reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a line has to hold to be wanted."""

    words: tuple[bytes, ...]
    """One of them is in whatever the pattern matches: they rule out a block twenty times faster."""
    pattern: re.Pattern[bytes]
    minds_case: bool = False
    """Whether `words` are looked for as they stand; else they are small letters."""

    def is_in(self, data: bytes) -> bool:
        """Whether any line of `data` may be wanted; of one line, whether it is."""
        searched = data if self.minds_case else data.lower()
        return any(word in searched for word in self.words) and bool(self.pattern.search(data))


AllOf = tuple[Wanted, ...]
"""Lines that are wanted by all of them."""


class Level(Enum):
    """What a line has to be to be shown. A line that names no level is info."""

    ALL = "all"
    WARNINGS = "warnings"
    ERRORS = "errors"

    @property
    def wanted(self) -> AllOf:
        """What the lines of this level and worse contain."""
        return _WANTED[self]

    @property
    def next(self) -> "Level":
        """The one after this, in a circle."""
        levels = list(Level)
        return levels[(levels.index(self) + 1) % len(levels)]


_ERROR_WORDS = (b"andrea-trainer: ", b"error", b"critical", b"fatal", b"traceback", b"failed")
_WARNING_WORDS = (b"warn", b"alarm", *_ERROR_WORDS)


def _level_of(words: tuple[bytes, ...], names: bytes) -> AllOf:
    """Lines with one of the words, or the name of an exception that ends in one of `names`."""
    word = rb"(?i)\b(" + b"|".join(words) + rb")"
    name = rb"(?-i:\b[A-Z]\w*(" + names + rb")\b)"
    return (Wanted(words=words, pattern=re.compile(word + b"|" + name)),)


_WANTED: dict[Level, AllOf] = {
    Level.ALL: (),
    Level.WARNINGS: _level_of(_WARNING_WORDS, b"Error|Warning"),
    Level.ERRORS: _level_of(_ERROR_WORDS, b"Error"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line and the byte where it begins. Its text is data: not escaped yet."""

    start: int
    end: int
    """Behind its newline."""
    text: str


def search_for(text: str) -> Wanted:
    """The words as they stand; capitals count only where there is one."""
    minds_case = any(character.isupper() for character in text)
    words = text.encode("utf-8", "surrogateescape")
    pattern = re.compile(re.escape(words), 0 if minds_case else re.IGNORECASE)
    return Wanted(
        words=(words if minds_case else words.lower(),), pattern=pattern, minds_case=minds_case
    )


class LogFile:
    """Opens the log anew at each call: what was rotated or emptied in between is what is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        """Bytes now; 0 where it can't be read."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def identity(self) -> tuple[int, int] | None:
        """Changes when another file takes the name."""
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_dev, stat.st_ino

    def before(
        self, end: int, count: int, wanted: AllOf = (), progress: Progress | None = None
    ) -> list[LogLine]:
        """At most `count` wanted lines that end at or before byte `end`, in the log's order."""
        found: list[LogLine] = []
        try:
            with reading(self.path) as file:
                fd = file.fileno()
                for start, line in _backwards(fd, end, wanted, progress):
                    if _is_wanted(line, wanted):
                        found.append(_log_line(start, line))
                        if len(found) >= count:
                            break
        except OSError:
            return []
        return found[::-1]

    def after(
        self, start: int, count: int, wanted: AllOf = (), progress: Progress | None = None
    ) -> list[LogLine]:
        """At most `count` wanted lines from byte `start`, where a line begins."""
        found: list[LogLine] = []
        try:
            with reading(self.path) as file:
                for at, line in _forwards(file.fileno(), start, wanted, progress):
                    if _is_wanted(line, wanted):
                        found.append(_log_line(at, line))
                        if len(found) >= count:
                            break
        except OSError:
            return []
        return found

    def place_of(self, step: int) -> list[LogLine]:
        """The last line that names a step at or before this one; none if none is near."""
        return self._place(_STEP, lambda line: _step_in(line) <= step)

    def place_at(self, t: float) -> list[LogLine]:
        """The last line that begins with a time at or before this moment, in the local zone."""
        try:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))
        except (OverflowError, OSError, ValueError):
            return []
        return self._place(_STAMPED, lambda line: line.text[:19].replace("T", " ") <= stamp)

    def _place(self, named: Wanted, is_before: Callable[[LogLine], bool]) -> list[LogLine]:
        """The last line that names something, and something that is still before.

        What is named rises through a log, but for replays: halving finds the place in a few blocks.
        """
        low, high = 0, self.size()
        while high - low > _SMALL_BYTES:
            middle = (low + high) // 2
            line = next(iter(self.after(middle, 1, (named,), _near())), None)
            if line is None or line.start >= high or not is_before(line):
                high = middle
            else:
                low = line.start
        near = self.after(low, _NEAR_LINES, (named,), _near())
        return [line for line in near if is_before(line)][-1:]


_NEAR_LINES = 5000
_NEAR_BLOCKS = 8
_STEP = Wanted(words=(b"step",), pattern=re.compile(rb"(?i)\bsteps?[ _=:]{0,2}(\d[\d,]*)"))
_STAMPED = Wanted(words=(b"-",), pattern=re.compile(rb"(?m)^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"))


def _near() -> Progress:
    """Reading that ends after some two megabytes: what stands between two steps is less."""
    blocks = iter(range(_NEAR_BLOCKS))
    return lambda reached: next(blocks, None) is not None


def _step_in(line: LogLine) -> int:
    found = _STEP.pattern.search(line.text.encode("utf-8", "replace"))
    return int(found[1].replace(b",", b"")[:18]) if found else 0


def _log_line(start: int, line: bytes) -> LogLine:
    text = final_state(
        line.removesuffix(b"\n").decode("utf-8", errors="replace"), at_most=LONGEST_SHOWN
    )
    return LogLine(start=start, end=start + len(line), text=text)


def _is_wanted(data: bytes, wanted: AllOf) -> bool:
    return all(each.is_in(data) for each in wanted)


def _backwards(
    fd: int, end: int, wanted: AllOf, progress: Progress | None
) -> Iterator[tuple[int, bytes]]:
    """Lines before `end`, the last first, but for blocks that hold no wanted one.

    The first block is a small one: near lines come at once.
    """
    end = min(end, os.fstat(fd).st_size)
    rest, size = b"", _SMALL_BYTES
    while end > 0:
        start = max(0, end - size)
        data = os.pread(fd, end - start, start) + rest
        first = 0 if start == 0 or len(data) > _LONGEST_LINE else _behind_newline(data)
        rest = data[:first]
        at = start + len(data)
        for line in reversed(_split(data[first:]) if _is_wanted(data, wanted) else []):
            at -= len(line)
            yield at, line
        end, size = start, _BLOCK_BYTES
        if progress is not None and not progress(end):
            return


def _behind_newline(data: bytes) -> int:
    """Where the first line that surely begins in `data` does; its length if none does."""
    return data.find(b"\n") + 1 or len(data)


def _forwards(
    fd: int, start: int, wanted: AllOf, progress: Progress | None
) -> Iterator[tuple[int, bytes]]:
    """Lines from `start` on, but for blocks that hold no wanted one; the last may lack its end."""
    rest, at, size = b"", start, _SMALL_BYTES
    while block := os.pread(fd, size, at + len(rest)):
        data = rest + block
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) >= _LONGEST_LINE:
            whole = len(data)
        lines = _split(data[:whole]) if _is_wanted(data, wanted) else []
        starts = accumulate(map(len, lines), initial=at)
        yield from zip(starts, lines, strict=False)
        rest, at = data[whole:], at + whole
        size = _BLOCK_BYTES
        if progress is not None and not progress(at):
            return
    if rest:
        yield at, rest


def _split(data: bytes) -> list[bytes]:
    """Lines with their newlines; only `\\n` ends one."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
