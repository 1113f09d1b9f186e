"""Saves in the background: a thread writes the state of step N while step N + 1 is computed."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from torch import Tensor

from trainer.engine.parameters import FlatParameters
from trainer.engine.snapshot import DeviceSnapshot, LiveSnapshot, PinnedBuffers, Snapshot
from trainer.rundir.checkpoints.checkpoint import Written, write_chunks


class Saver:
    """Writes one checkpoint at a time; the loop never waits for the disk but at the end."""

    def __init__(
        self, directory: Path, parameters: FlatParameters, sync_history: Callable[[], None]
    ) -> None:
        """`sync_history` makes the loss history durable: it comes before the file's name."""
        self._directory = directory
        self._parameters = parameters
        self._sync_history = sync_history
        self._buffers: PinnedBuffers | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="save")
        self._snapshot: Snapshot | None = None
        self._future: Future[Written] | None = None
        self.retried: str = ""
        """The write error after which the last save was tried once more, if any."""

    def begin(self, step: int) -> None:
        """Start to write the state as it is now; the save before must have been collected."""
        if self._future is not None:
            raise AssertionError("the save before was not collected")
        self.retried = ""
        self._snapshot = self._take_snapshot()
        self._future = self._thread.submit(self._write, step, self._snapshot)

    def before_update(self) -> None:
        """The engine calls this before it changes weights, m and v."""
        if self._snapshot is not None:
            self._snapshot.secure()

    @property
    def is_done(self) -> bool:
        """Whether a save was begun and waits to be collected."""
        return self._future is not None and self._future.done()

    def collect(self) -> Written:
        """Wait for the save under way and give its result; raises the `OSError` it met."""
        if self._future is None:
            raise AssertionError("no save is under way")
        try:
            return self._future.result()
        finally:
            self._future = self._snapshot = None

    def close(self) -> None:
        """Let a save under way end."""
        self._thread.shutdown()

    def _take_snapshot(self) -> Snapshot:
        if self._parameters.weights.device.type != "cuda":
            return LiveSnapshot(self._whole())
        if self._buffers is None:
            self._buffers = PinnedBuffers(self._parameters)
        return DeviceSnapshot(self._parameters, self._buffers)

    def _whole(self) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, m and v in the CPU's memory: the live buffers, where no other rank has parts."""
        parameters = self._parameters
        arrays = parameters.host_arrays()
        if parameters.ranks.size > 1:
            with parameters.ranks.together("save"):
                parameters.collect(arrays[1:])
        return arrays

    def _write(self, step: int, snapshot: Snapshot) -> Written:
        try:
            return self._write_once(step, snapshot)
        except OSError as error:
            if not snapshot.rewind():
                raise
            self.retried = f"step {step}: {error.strerror}; tried once more"
            return self._write_once(step, snapshot)

    def _write_once(self, step: int, snapshot: Snapshot) -> Written:
        self._sync_history()
        # closed even after an error: the pass holds a lock that the update waits for
        with closing(snapshot.chunks()) as chunks:
            return write_chunks(self._directory, step, self._parameters.n_params, chunks)
