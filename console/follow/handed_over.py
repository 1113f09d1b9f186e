"""One thing that a child process hands over; its arrays lie in memory that both have.

Flat: pickled, its arrays aligned one behind the other in a file, so that they need not be copied.
"""

import mmap
import os
import pickle
from multiprocessing.context import ForkContext
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Spans = list[tuple[int, int]]
"""Where each array begins and ends."""

_ALIGNED_BYTES = 64


def flattened(made: object) -> tuple[bytes, list[memoryview]]:
    """Pickled without its arrays, and their memory, which is theirs as long as it is needed."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(made, protocol=5, buffer_callback=arrays.append)
    return rest, [array.raw() for array in arrays]


def write_arrays(fd: int, arrays: list[memoryview]) -> Spans:
    """Write them from the file's beginning on. Raises `OSError`."""
    spans, end = [], 0
    for array in arrays:
        _write(fd, array, end)
        spans.append((end, end + array.nbytes))
        end += -(-array.nbytes // _ALIGNED_BYTES) * _ALIGNED_BYTES
    return spans


def loaded(rest: bytes, spans: Spans, memory: memoryview) -> Any:
    """What was flattened; its arrays are the memory's, not copies."""
    return pickle.loads(rest, buffers=[memory[start:end] for start, end in spans])


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
        rest, arrays = flattened(made)
        spans = write_arrays(self._memory, arrays)
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
            made: T = loaded(rest, spans, self._shared())
        finally:
            self.close()
        return made

    def close(self) -> None:
        """What was taken stays."""
        if not self._receiver.closed:
            self._receiver.close()
            os.close(self._memory)

    def _shared(self) -> memoryview:
        n_bytes = os.fstat(self._memory).st_size
        return memoryview(mmap.mmap(self._memory, 0) if n_bytes else bytearray())


def _write(fd: int, data: memoryview, offset: int) -> None:
    while data:
        n_written = os.pwrite(fd, data, offset)
        data, offset = data[n_written:], offset + n_written
