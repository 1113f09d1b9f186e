"""Asking the GPUs' driver on a thread of its own: one that hangs holds up neither look nor end."""

import threading
from queue import SimpleQueue

from console.view.gpu import NO_ANSWER, GpuReader, Gpus

SAMPLE_SECONDS = 2.0
_PATIENCE_SECONDS = 20.0
"""A driver that has slept takes seconds to wake; one whose GPU fell off the bus, for ever."""


class GpuWatch:
    """Keeps what was told last; asks again when somebody looks, every two seconds at most."""

    def __init__(self, reader: GpuReader | None = None) -> None:
        self._reader = reader or GpuReader()
        self._asked: SimpleQueue[tuple[float, int | None]] = SimpleQueue()
        self._asked_at: float | None = None
        self._is_answered = threading.Event()
        self._told = Gpus()

    def look(self, now: float, trainer: int | None) -> Gpus:
        """What is known now (monotonic seconds); nothing at first. `trainer`: its pid."""
        if self._asked_at is None:
            threading.Thread(target=self._answer, name="GPUs", daemon=True).start()
        elif not self._is_answered.is_set():
            is_late = now - self._asked_at > _PATIENCE_SECONDS
            return Gpus(word=NO_ANSWER) if is_late else self._told
        elif now - self._asked_at < SAMPLE_SECONDS:
            return self._told
        self._asked_at = now
        self._is_answered.clear()
        self._asked.put((now, trainer))
        return self._told

    def wait(self, seconds: float) -> bool:
        """Until what was asked for is told, or so long; whether it is."""
        return self._is_answered.wait(seconds)

    def _answer(self) -> None:
        while True:
            now, trainer = self._asked.get()
            self._told = self._reader.sample(now, trainer)
            self._is_answered.set()
