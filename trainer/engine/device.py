"""The device a run trains on, the precision of its passes, and kernels that repeat their bits."""

import contextlib
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from trainer.rundir.config.settings import TrainSettings
from trainer.rundir.outcomes import SettingsError

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where and how the passes run."""

    device: torch.device
    precision: str
    """fp32, bf16 or fp16."""
    deterministic: bool

    @contextlib.contextmanager
    def passes(self) -> Iterator[None]:
        """The context of a forward pass: autocast, and attention kernels that repeat."""
        with contextlib.ExitStack() as stack:
            if self.precision in _DTYPES:
                dtype = _DTYPES[self.precision]
                stack.enter_context(torch.autocast(self.device.type, dtype=dtype))
            if self.deterministic and self.device.type == "cuda":
                stack.enter_context(sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]))
            yield

    @property
    def name(self) -> str:
        """The device, for a person."""
        is_cuda = self.device.type == "cuda"
        return torch.cuda.get_device_name(self.device) if is_cuda else "cpu"

    def facts(self) -> dict[str, Any]:
        """What a bit-exact resume depends on beside the settings."""
        return {
            "torch": torch.__version__,
            "device": self.name,
            "precision": self.precision,
            "threads": torch.get_num_threads(),
            "cpu": platform.machine() + " " + torch.backends.cpu.get_cpu_capability(),
        }


def require_devices(settings: TrainSettings) -> int:
    """How many ranks this machine is to have; `SettingsError` where it has no device for each."""
    n_gpus = 0 if settings.device == "cpu" else torch.cuda.device_count()
    wanted = settings.ranks or max(n_gpus, 1)
    if wanted > 1 and settings.device.startswith("cuda:"):
        raise SettingsError(
            f"train.device: {settings.device} is one GPU, train.ranks = {wanted} want one each;"
            " use cuda, and choose the GPUs by CUDA_VISIBLE_DEVICES"
        )
    if n_gpus and wanted > n_gpus:
        raise SettingsError(
            f"train.ranks: {wanted} ranks want a GPU each, and {n_gpus} are in sight; lower it"
            " (0: one for each), or set train.device = cpu"
        )
    return wanted


def place(settings: TrainSettings, local: int | None = None) -> Placement:
    """Choose device and precision and set torch up; `SettingsError` where they can't be had.

    `local`: number of this process among those of its machine, where each has a GPU.
    """
    if settings.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # The flag alone: use_deterministic_algorithms also loads the compiler, 1.6 s of a start.
        torch.set_deterministic_debug_mode("error")
        if settings.compile:
            torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
    # Buffers are always filled before they are read, so there is nothing to fill for safety.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    device = _device(settings.device, local)
    return Placement(
        device=device,
        precision=_precision(settings.precision, device),
        deterministic=settings.deterministic,
    )


def _device(wanted: str, local: int | None) -> torch.device:
    has_cuda = torch.cuda.is_available()
    if has_cuda and local is not None and wanted in ("auto", "cuda"):
        n_gpus = torch.cuda.device_count()
        index = 0 if n_gpus == 1 else local  # srun may show each of its tasks its own GPU only
        if index >= n_gpus:
            raise SettingsError(f"train.ranks: rank {local} of this machine has no GPU: {n_gpus}")
        torch.cuda.set_device(index)
        return torch.device("cuda", index)
    if wanted == "auto":
        return torch.device("cuda" if has_cuda else "cpu")
    if wanted.startswith("cuda"):
        index = int(wanted.partition(":")[2] or 0)
        if not has_cuda or index >= torch.cuda.device_count():
            msg = f"train.device: {wanted} is not there; use auto or cpu, or mend the driver"
            raise SettingsError(msg)
    return torch.device(wanted)


def _precision(wanted: str, device: torch.device) -> str:
    if device.type == "cpu":
        if wanted in ("bf16", "fp16"):
            raise SettingsError(
                f"train.precision: {wanted} needs CUDA; on the CPU use auto or fp32"
            )
        return "fp32"
    if wanted == "auto":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    return wanted
