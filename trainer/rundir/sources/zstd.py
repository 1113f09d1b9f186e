"""Read zstd, and tell where it is cut off: the library's own reader takes that for the end."""

import io
from typing import Any, BinaryIO

import zstandard

_READ_BYTES = 32_768
"""Of the compressed file at a time; well packed text becomes some hundred times as much."""


class ZstdReader(io.RawIOBase):
    """The frames of a file, one after the other; raises `EOFError` in the middle of one."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._unread = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: Any) -> int:
        """Fill some of it; 0 at the end."""
        while not self._ready:
            data = self._unread or self._file.read(_READ_BYTES)
            if not data and self._frame is not None:
                raise EOFError("it ends in the middle of a frame")
            if not data:
                return 0
            self._ready = memoryview(self._decompress(data))
        space = memoryview(into).cast("B")
        size = min(len(space), len(self._ready))
        space[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _decompress(self, data: bytes) -> bytes:
        frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
        decompressed = frame.decompress(data)
        self._frame, self._unread = (None, frame.unused_data) if frame.eof else (frame, b"")
        return decompressed
