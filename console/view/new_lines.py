"""Lines that are appended to a file, each told once."""

import os
from collections.abc import Iterator
from pathlib import Path

from trainer.rundir.reading import reading

_CHUNK_BYTES = 1 << 20
"""Read at a time; a line that is longer is no line of ours."""


class NewLines:
    """Follows a file that grows; one that was replaced or cut is read anew."""

    def __init__(self, path: Path, *, last_bytes: int) -> None:
        """Of what is there at first, only the last bytes are read."""
        self._path = path
        self._last_bytes = last_bytes
        self._inode = -1
        self._offset = 0
        self._rest = b""

    def look(self) -> Iterator[list[bytes]]:
        """Whole new lines without their ends, a megabyte at a time; a file that can't be read
        has none.
        """
        try:
            with reading(self._path) as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._offset:
                    self._begin(stat)
                while self._offset < stat.st_size:
                    data = os.pread(file.fileno(), _CHUNK_BYTES, self._offset)
                    if not data:
                        return
                    self._offset += len(data)
                    yield self._whole(data)
        except OSError:
            return

    def _begin(self, stat: os.stat_result) -> None:
        self._inode = stat.st_ino
        self._offset = max(0, stat.st_size - self._last_bytes)
        self._rest = b""

    def _whole(self, data: bytes) -> list[bytes]:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest if len(rest) < _CHUNK_BYTES else b""
        return lines
