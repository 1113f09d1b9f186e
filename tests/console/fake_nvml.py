"""A driver that does what no GPU does on demand: a module that stands in for pynvml."""

from types import SimpleNamespace
from typing import Any


class FakeNvml:
    """Two cards; `fails` has each call that fails, by name, with the number of its error."""

    NVML_ERROR_UNINITIALIZED = 1
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_DRIVER_NOT_LOADED = 9
    NVML_ERROR_TIMEOUT = 10
    NVML_ERROR_LIBRARY_NOT_FOUND = 12
    NVML_ERROR_FUNCTION_NOT_FOUND = 13
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
    NVML_ERROR_GPU_NOT_FOUND = 28
    NVML_ERROR_UNKNOWN = 999
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0
    NVML_TEMPERATURE_GPU = 0
    nvmlEventTypeXidCriticalError = 8  # noqa: N815 - as the library has it

    class NVMLError(Exception):
        def __init__(self, value: int) -> None:
            super().__init__(f"NVML's error {value}")
            self.value = value

    def __init__(self, count: int = 2) -> None:
        self._count = count
        self.fails: dict[str, int] = {}
        """By the call's name, or by name and card: `nvmlDeviceGetName 1`."""
        self.slowed_bits = 0
        self.processes: list[tuple[int, int | None]] = []
        """Of card 0: pid, bytes."""
        self.xids: list[tuple[int, int]] = []
        """Card, number: still to be told."""
        self.calls: list[str] = []

    def _may(self, name: str, card: int | None = None) -> None:
        self.calls.append(name)
        for key in (name, f"{name} {card}", f"card {card}"):
            if key in self.fails:
                raise self.NVMLError(self.fails[key])

    def nvmlInit(self) -> None:
        self._may("nvmlInit")

    def nvmlShutdown(self) -> None:
        self._may("nvmlShutdown")

    def nvmlDeviceGetCount(self) -> int:
        self._may("nvmlDeviceGetCount")
        return self._count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self._may("nvmlDeviceGetHandleByIndex", index)
        return index

    def nvmlDeviceGetIndex(self, card: int) -> int:
        self._may("nvmlDeviceGetIndex", card)
        return card

    def nvmlDeviceGetName(self, card: int) -> str:
        self._may("nvmlDeviceGetName", card)
        return "NVIDIA H100"

    def nvmlDeviceGetUtilizationRates(self, card: int) -> Any:
        self._may("nvmlDeviceGetUtilizationRates", card)
        return SimpleNamespace(gpu=90 + card, memory=40)

    def nvmlDeviceGetMemoryInfo(self, card: int) -> Any:
        self._may("nvmlDeviceGetMemoryInfo", card)
        return SimpleNamespace(used=60_000_000_000, total=80_000_000_000, free=20_000_000_000)

    def nvmlDeviceGetTemperature(self, card: int, sensor: int) -> int:
        self._may("nvmlDeviceGetTemperature", card)
        return 70

    def nvmlDeviceGetPowerUsage(self, card: int) -> int:
        self._may("nvmlDeviceGetPowerUsage", card)
        return 412_500

    def nvmlDeviceGetEnforcedPowerLimit(self, card: int) -> int:
        self._may("nvmlDeviceGetEnforcedPowerLimit", card)
        return 700_000

    def nvmlDeviceGetCurrentClocksEventReasons(self, card: int) -> int:
        self._may("nvmlDeviceGetCurrentClocksEventReasons", card)
        return self.slowed_bits

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, card: int) -> int:
        self._may("nvmlDeviceGetCurrentClocksThrottleReasons", card)
        return self.slowed_bits

    def nvmlDeviceGetTotalEccErrors(self, card: int, kind: int, counter: int) -> int:
        self._may("nvmlDeviceGetTotalEccErrors", card)
        return (3, 1)[kind]

    def nvmlDeviceGetComputeRunningProcesses(self, card: int) -> list[Any]:
        self._may("nvmlDeviceGetComputeRunningProcesses", card)
        found = self.processes if card == 0 else []
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in found]

    def nvmlEventSetCreate(self) -> object:
        self._may("nvmlEventSetCreate")
        return object()

    def nvmlDeviceRegisterEvents(self, card: int, kinds: int, events: object) -> None:
        self._may("nvmlDeviceRegisterEvents", card)

    def nvmlEventSetWait_v2(self, events: object, milliseconds: int) -> Any:
        self._may("nvmlEventSetWait_v2")
        assert milliseconds == 0
        if not self.xids:
            raise self.NVMLError(self.NVML_ERROR_TIMEOUT)
        card, number = self.xids.pop(0)
        return SimpleNamespace(device=card, eventType=8, eventData=number)


def public_names() -> list[str]:
    """What of the library the fake stands in for."""
    return [name for name in vars(FakeNvml) if not name.startswith("_")]
