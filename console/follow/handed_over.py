"""One thing that a child process hands over; its arrays lie in memory that both have."""

import mmap
import os
import pickle
from multiprocessing.context import ForkContext
from typing import Generic, TypeVar

T = TypeVar("T")

_ALIGNED_BYTES = 64


class HandedOver(Generic[T]):
    """Made before the fork. Through a pipe, arrays would be copied four times: here only once,
    by the child.
    """

    def __init__(self, context: ForkContext) -> None:
        """Raises `OSError` where there may be no more files."""
        self._memory = os.memfd_create("history")
        try:
            self._receiver, self._sender = context.Pipe(duplex=False)
        except OSError:
            os.close(self._memory)
            raise

    def close_sender(self) -> None:
        """In the process that takes."""
        self._sender.close()

    def give(self, made: T) -> None:
        """In the child."""
        arrays: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(made, protocol=5, buffer_callback=arrays.append)
        spans, end = [], 0
        for array in arrays:
            raw = array.raw()
            _write(self._memory, raw, end)
            spans.append((end, end + raw.nbytes))
            end += -(-raw.nbytes // _ALIGNED_BYTES) * _ALIGNED_BYTES
        self._sender.send((rest, spans))

    def take(self, timeout_seconds: float) -> T | None:
        """What was given, `None` if it takes longer than that.

        Raises:
            EOFError: the child is gone without it.
        """
        if self._receiver.closed:
            raise EOFError
        if not self._receiver.poll(timeout_seconds):
            return None
        try:
            rest, spans = self._receiver.recv()
            made: T = pickle.loads(rest, buffers=self._arrays(spans))
        finally:
            self.close()
        return made

    def close(self) -> None:
        """What was taken stays."""
        if not self._receiver.closed:
            self._receiver.close()
            os.close(self._memory)

    def _arrays(self, spans: list[tuple[int, int]]) -> list[memoryview]:
        if not os.fstat(self._memory).st_size:
            return [memoryview(bytearray())] * len(spans)
        shared = memoryview(mmap.mmap(self._memory, 0))
        return [shared[start:end] for start, end in spans]


def _write(fd: int, data: memoryview, offset: int) -> None:
    while data:
        n_written = os.pwrite(fd, data, offset)
        data, offset = data[n_written:], offset + n_written
