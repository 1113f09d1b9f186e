"""What the NVIDIA driver tells of this machine's GPUs, and which of them the trainer is on.

The only module that knows NVML. What a GPU, a driver or the rights do not tell is unknown; a
driver that isn't there or goes away is a word.
"""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from console.process.descent import descends_from

NO_DRIVER = "no NVIDIA driver"
NO_ANSWER = "the NVIDIA driver does not answer"
_GONE = ("UNINITIALIZED", "DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH")
"""Errors after which only a new beginning can help, by NVML's names."""
_LOST = ("GPU_IS_LOST", "RESET_REQUIRED", "GPU_NOT_FOUND")
"""Errors of a GPU that does no work until something is done."""
_SLOWED = {
    0x04: "power cap",
    0x08: "slowdown",
    0x10: "sync boost",
    0x20: "heat",
    0x40: "heat",
    0x80: "power brake",
}
"""NVML's bits for why clocks are low, but for idleness and clocks that somebody has set."""
_MOST_EVENTS = 100
"""Of one look: a GPU that fails all the time must not keep it for ever."""
_RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU; `None` is what is not told."""

    index: int
    """As nvidia-smi counts."""
    name: str = ""
    """Foreign text."""
    busy: float | None = None
    """Share of the time in which a kernel ran, 0 to 1."""
    used_bytes: int | None = None
    total_bytes: int | None = None
    celsius: int | None = None
    watts: float | None = None
    most_watts: float | None = None
    slowed_by: tuple[str, ...] | None = None
    """Why its clocks are lower than they could be; empty: they are not."""
    ecc_corrected: int | None = None
    """Memory errors since the driver was loaded."""
    ecc_uncorrected: int | None = None
    xid: int | None = None
    """The driver's number for the newest error since this console has looked."""
    is_trainers: bool = False
    """The trainer, or a process that it started, computes on it; never known in a container that
    sees other pids than the driver.
    """
    trainer_bytes: int | None = None
    """What of the used memory is the trainer's."""
    word: str = ""
    """What is wrong with it, as the driver says; empty: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """All of the machine's."""

    rows: tuple[Gpu, ...] = ()
    word: str = ""
    """Why there are none, for a person."""


class GpuReader:
    """Asks the driver; begins anew where that was gone. One caller at a time."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        self._events: Any = None
        self._xids: dict[int | None, int] = {}
        self._word = ""
        self._tried_at: float | None = None

    def sample(self, now: float, trainer: int | None) -> Gpus:
        """As it is now (`now`: monotonic seconds); `trainer` is its pid. Raises nothing."""
        if self._nvml is None:
            if self._tried_at is not None and now - self._tried_at < _RETRY_SECONDS:
                return Gpus(word=self._word)
            self._tried_at = now
            self._word = self._open()
            if self._word:
                return Gpus(word=self._word)
        nvml = self._nvml
        try:
            self._read_events()
            return Gpus(rows=tuple(self._rows(trainer)))
        except nvml.NVMLError as error:  # of the driver as a whole
            self._close()
            self._tried_at, self._word = now, f"the NVIDIA driver is gone: {_words(error)}"
            return Gpus(word=self._word)

    def _open(self) -> str:
        """Why it can't be asked; empty where it can."""
        if not _has_library():
            return NO_DRIVER
        try:
            nvml = _load()
        except ImportError:
            return "GPUs unknown: nvidia-ml-py is not installed"
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            missing = (nvml.NVML_ERROR_LIBRARY_NOT_FOUND, nvml.NVML_ERROR_DRIVER_NOT_LOADED)
            return NO_DRIVER if error.value in missing else f"GPUs unknown: {_words(error)}"
        self._nvml = nvml
        try:
            count = nvml.nvmlDeviceGetCount()
            self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except nvml.NVMLError as error:
            self._close()
            return f"GPUs unknown: {_words(error)}"
        if not self._handles:
            self._close()
            return "no NVIDIA GPU"
        self._register()
        return ""

    def _close(self) -> None:
        nvml, self._nvml, self._handles, self._events = self._nvml, None, [], None
        try:
            nvml.nvmlShutdown()
        except nvml.NVMLError:
            return  # the driver is gone with all that would be given back

    def _register(self) -> None:
        """Have the driver tell of errors from here on, where it can."""
        events = self._ask("nvmlEventSetCreate")
        kind = self._nvml.nvmlEventTypeXidCriticalError
        for handle in self._handles if events is not None else ():
            try:
                self._nvml.nvmlDeviceRegisterEvents(handle, kind, events)
            except self._nvml.NVMLError:
                continue  # not every GPU tells of them
            self._events = events

    def _read_events(self) -> None:
        for _ in range(_MOST_EVENTS if self._events is not None else 0):
            try:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0)
            except self._nvml.NVMLError:  # most often: nothing came
                return
            try:
                index = self._nvml.nvmlDeviceGetIndex(event.device)
            except self._nvml.NVMLError:  # it fell off the bus
                index = None
            self._xids[index] = int(event.eventData)

    def _rows(self, trainer: int | None) -> Iterable[Gpu]:
        for index, handle in enumerate(self._handles):
            try:
                row = self._row(index, handle, trainer)
            except self._nvml.NVMLError as error:
                if _is(self._nvml, error, _GONE):
                    raise
                row = Gpu(index=index, word=_words(error))
            unplaced = self._xids.get(None) if row.word else None
            yield replace(row, xid=self._xids.get(index, unplaced))

    def _row(self, index: int, handle: Any, trainer: int | None) -> Gpu:
        nvml = self._nvml
        name = self._ask("nvmlDeviceGetName", handle)
        busy = self._ask("nvmlDeviceGetUtilizationRates", handle)
        memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
        power = self._ask("nvmlDeviceGetPowerUsage", handle)
        most = self._ask("nvmlDeviceGetEnforcedPowerLimit", handle)
        errors = (nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
        corrected, uncorrected = (
            self._ask("nvmlDeviceGetTotalEccErrors", handle, kind, nvml.NVML_VOLATILE_ECC)
            for kind in errors
        )
        is_trainers, trainer_bytes = self._of_trainer(handle, trainer)
        return Gpu(
            index=index,
            name=str(name or ""),
            busy=None if busy is None else busy.gpu / 100,
            used_bytes=None if memory is None else int(memory.used),
            total_bytes=None if memory is None else int(memory.total),
            celsius=self._ask("nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU),
            watts=None if power is None else power / 1000,
            most_watts=None if most is None else most / 1000,
            slowed_by=self._slowed_by(handle),
            ecc_corrected=corrected,
            ecc_uncorrected=uncorrected,
            is_trainers=is_trainers,
            trainer_bytes=trainer_bytes,
        )

    def _slowed_by(self, handle: Any) -> tuple[str, ...] | None:
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if bits is None:  # a driver before 535 knows it by this name
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        if bits is None:
            return None
        words = dict.fromkeys(word for bit, word in _SLOWED.items() if bits & bit)
        if len(words) > 1:
            words.pop("slowdown", None)  # the hardware says why, too
        return tuple(words)

    def _of_trainer(self, handle: Any, trainer: int | None) -> tuple[bool, int | None]:
        if trainer is None:
            return False, None
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses", handle) or ()
        own = [each for each in processes if descends_from(each.pid, trainer)]
        sizes = [each.usedGpuMemory for each in own]
        is_told = bool(sizes) and None not in sizes
        return bool(own), sum(sizes) if is_told else None

    def _ask(self, name: str, *arguments: Any) -> Any:
        """`None` for what isn't told. Raises NVML's error where nothing will be told any more."""
        nvml = self._nvml
        try:
            return getattr(nvml, name)(*arguments)
        except nvml.NVMLError as error:
            if _is(nvml, error, (*_GONE, *_LOST)):
                raise
            return None


def _has_library() -> bool:
    """Whether the driver's library is there: without it the binding would be 4 MB for nothing."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def _load() -> Any:
    """Late, for the same reason."""
    import pynvml  # noqa: PLC0415

    return pynvml


def _is(nvml: Any, error: Any, names: Iterable[str]) -> bool:
    return error.value in {getattr(nvml, f"NVML_ERROR_{name}") for name in names}


def _words(error: Exception) -> str:
    return str(error).rstrip(".")
