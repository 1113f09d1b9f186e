"""The state of one step, held still for a save while training goes on.

On the CPU the writer reads the live buffers themselves: they don't change until the next update,
which is an audit, a forward and a backward pass away. What is not written by then is copied just
before the update, so a save costs neither memory nor a copy unless the disk is slower than that.
On CUDA the state is copied into pinned memory, reused by every save, on a stream of its own beside
the next passes; the update waits for that copy on the device, not on the host.
"""

import threading
from collections.abc import Generator
from typing import Protocol

import torch
from torch import Tensor

from trainer.engine.parameters import FlatParameters, as_memoryview
from trainer.rundir.checkpoints.checkpoint import chunks_of


class Snapshot(Protocol):
    """What a save reads: the bytes of weights, m and v at one step."""

    def rewind(self) -> bool:
        """Go back to the first chunk; `False` where its bytes are not the step's any more."""

    def chunks(self) -> Generator[memoryview, None, None]:
        """A pass over the bytes; a chunk is done with when the next one is asked for."""

    def secure(self) -> None:
        """Called before the update: from here on the live buffers may change."""


class LiveSnapshot:
    """Of buffers in the CPU's memory: read where they are, copied only if an update comes."""

    def __init__(self, arrays: tuple[Tensor, Tensor, Tensor]) -> None:
        self._chunks = list(chunks_of([as_memoryview(array) for array in arrays]))
        self._next = 0
        self._chunk_lock = threading.Lock()
        # Who wants the chunk lock passes here first, so that the writer can't take it again
        # and again while an update waits.
        self._turnstile = threading.Lock()
        self._is_secured = False
        self.copied_bytes = 0
        """Bytes that were not written when the update came."""

    def rewind(self) -> bool:
        # under the locks: an update that comes before the next pass copies all of it then
        with self._turnstile, self._chunk_lock:
            if not self._is_secured:
                self._next = 0
            return not self._is_secured

    def chunks(self) -> Generator[memoryview, None, None]:
        for index in range(len(self._chunks)):
            with self._turnstile:
                self._chunk_lock.acquire()
            try:
                self._next = index + 1
                yield self._chunks[index]
            finally:
                self._chunk_lock.release()

    def secure(self) -> None:
        """Copy what is still to be read; waits for the chunk that is being written."""
        with self._turnstile, self._chunk_lock:
            if self._is_secured:
                return
            self._is_secured = True
            for index in range(self._next, len(self._chunks)):
                self._chunks[index] = memoryview(bytes(self._chunks[index]))
                self.copied_bytes += self._chunks[index].nbytes


class PinnedBuffers:
    """Pinned host memory for weights, m and v, made at the first save and used for all."""

    def __init__(self, parameters: FlatParameters) -> None:
        n_params = parameters.n_params
        self.arrays = [torch.empty(n_params, pin_memory=True) for _ in range(3)]
        self.stream = torch.cuda.Stream(parameters.weights.device)


class DeviceSnapshot:
    """Of buffers on a CUDA device: copied into pinned memory beside the next passes."""

    def __init__(self, parameters: FlatParameters, buffers: PinnedBuffers) -> None:
        self._arrays: list[Tensor] = buffers.arrays
        self._device = parameters.weights.device
        buffers.stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(buffers.stream):
            live = (parameters.weights, parameters.m, parameters.v)
            for pinned, array in zip(buffers.arrays, live, strict=True):
                if len(pinned) == len(array):  # else other ranks have parts of it
                    pinned.copy_(array, non_blocking=True)
            self._copied = torch.cuda.Event()
            self._copied.record(buffers.stream)
        if parameters.ranks.size > 1:
            with parameters.ranks.together("save"):
                parameters.collect((buffers.arrays[1], buffers.arrays[2]))

    def rewind(self) -> bool:
        return True

    def chunks(self) -> Generator[memoryview, None, None]:
        self._copied.synchronize()
        yield from chunks_of([as_memoryview(array) for array in self._arrays])

    def secure(self) -> None:
        """Let the device's next work wait for the copy; the host goes on."""
        torch.cuda.current_stream(self._device).wait_event(self._copied)
