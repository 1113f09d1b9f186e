"""The last lines of `trainer.log`, whatever bytes are in it."""

import os
from pathlib import Path

from trainer.rundir.reading import reading

MAX_LINES = 200
_MAX_LINE_CHARACTERS = 500
_TAIL_BYTES = 64 << 10


class LogTail:
    """Reads the end of the log anew whenever the file is not what it was."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self.lines: tuple[str, ...] = ()
        """Decoded with replacement, not escaped; the same object until the log changes."""

    def look(self) -> None:
        """A log that isn't there, or can't be read, is empty."""
        try:
            with reading(self._path) as file:
                stat = os.fstat(file.fileno())
                seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if seen == self._seen:
                    return
                start = max(0, stat.st_size - _TAIL_BYTES)
                data = os.pread(file.fileno(), _TAIL_BYTES, start)
        except OSError:
            seen, start, data = None, 0, b""
        self._seen = seen
        self.lines = last_lines(data, is_cut=start > 0)


def last_lines(data: bytes, *, is_cut: bool) -> tuple[str, ...]:
    """Whole lines of the end of a log; of a progress bar (carriage returns) its last state."""
    lines = data.decode("utf-8", errors="replace").split("\n")
    if is_cut:
        lines = lines[1:]
    if lines and not lines[-1]:
        lines.pop()
    return tuple(final_state(line) for line in lines[-MAX_LINES:])


def final_state(line: str, *, at_most: int = _MAX_LINE_CHARACTERS) -> str:
    """What a terminal would show of a line in the end; of a huge one its beginning."""
    return line.rstrip("\r").rpartition("\r")[2][:at_most]
