"""`python -m tests.crash.recorded_disk IMAGE MOUNTPOINT TRACE`: a disk that writes down what it
is told.

At the mountpoint are `disk`, the image as a file for a loop device, and `marks`: what is written
there stands in the trace between the disk's writes, at the moment at which it was said. It serves
until it is unmounted. It must be a process of its own: one that used a file system on the disk
that it serves would wait for itself.
"""

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from tests.crash.fuse import File, FlatFileSystem, require

DISK, MARKS = "disk", "marks"
READY = b"ready\n"
_HEADER = struct.Struct("<cQI")
_KIND_OF_WRITE, _KIND_OF_FLUSH, _KIND_OF_MARK = b"w", b"f", b"m"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class BlockWrite:
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Flush:
    """All writes before it are on the platter."""


@dataclass(frozen=True, slots=True)
class Mark:
    """`what` was promised here that nothing may take back; what it means is the run's to know."""

    run: str
    what: int


Event = BlockWrite | Flush | Mark


def tell_mark(marks: Path, mark: Mark) -> None:
    """Have the mark recorded; it is when this returns."""
    fd = os.open(marks, os.O_WRONLY)
    try:
        os.write(fd, orjson.dumps([mark.run, mark.what]))
    finally:
        os.close(fd)


def read_trace(path: Path) -> Iterator[Event]:
    """What was recorded, in order."""
    with path.open("rb") as file:
        while header := file.read(_HEADER.size):
            kind, offset, n_bytes = _HEADER.unpack(header)
            data = file.read(n_bytes)
            if kind == _KIND_OF_WRITE:
                yield BlockWrite(offset, data)
            else:
                yield Mark(*orjson.loads(data)) if kind == _KIND_OF_MARK else Flush()


class _Disk:
    def __init__(self, image: Path, trace: BinaryIO) -> None:
        self._fd = os.open(image, os.O_RDWR)
        self._trace = trace
        self.n_bytes = image.stat().st_size

    def read(self, offset: int, n_bytes: int) -> bytes:
        return os.pread(self._fd, n_bytes, offset)

    def write(self, offset: int, data: bytes) -> None:
        os.pwrite(self._fd, data, offset)
        self._trace.write(_HEADER.pack(_KIND_OF_WRITE, offset, len(data)) + data)

    def sync(self) -> None:
        self._trace.write(_HEADER.pack(_KIND_OF_FLUSH, 0, 0))


class _Marks:
    n_bytes = 0

    def __init__(self, trace: BinaryIO) -> None:
        self._trace = trace

    def read(self, offset: int, n_bytes: int) -> bytes:
        return b""

    def write(self, offset: int, data: bytes) -> None:
        self._trace.write(_HEADER.pack(_KIND_OF_MARK, 0, len(data)) + data)

    def sync(self) -> None:
        pass


def main() -> int:
    image, mountpoint, trace = map(Path, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the recording's to take: it unmounts
    libc = ctypes.CDLL(None, use_errno=True)
    require(libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
    with trace.open("wb") as file:
        files: dict[str, File] = {DISK: _Disk(image, file), MARKS: _Marks(file)}
        served = FlatFileSystem(mountpoint, files)
        sys.stdout.buffer.write(READY)
        sys.stdout.flush()
        served.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
