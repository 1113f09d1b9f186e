"""What is known of the GPUs, by a driver that fails in every way that it can."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pynvml
import pytest

from console.view.gpu import NO_DRIVER, GpuReader
from tests.console.fake_nvml import FakeNvml, public_names


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's library is there, as far as it is looked for."""
    monkeypatch.setattr("console.view.gpu._has_library", lambda: True)


@pytest.fixture
def nvml(library: None, monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


@pytest.fixture
def child() -> Iterator[int]:
    """A process that this one has started."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_all_that_is_asked_for_is_in_the_library() -> None:
    assert [name for name in public_names() if not hasattr(pynvml, name)] == []


def test_the_library_itself_tells_of_gpus_or_why_there_are_none() -> None:
    gpus = GpuReader().sample(0.0, os.getpid())
    assert bool(gpus.rows) != bool(gpus.word)


def test_each_gpu_is_a_row_with_all_that_the_driver_tells(nvml: FakeNvml) -> None:
    gpus = GpuReader().sample(0.0, None)
    assert gpus.word == ""
    first, second = gpus.rows
    assert (first.index, second.index) == (0, 1)
    assert (first.busy, second.busy) == (0.90, 0.91)
    assert (first.used_bytes, first.total_bytes) == (60_000_000_000, 80_000_000_000)
    assert (first.celsius, first.watts, first.most_watts) == (70, 412.5, 700.0)
    assert (first.ecc_corrected, first.ecc_uncorrected) == (3, 1)
    assert first.slowed_by == ()
    assert first.xid is None


def test_the_trainers_gpu_is_told_from_others_by_its_process_or_one_that_it_started(
    nvml: FakeNvml, child: int
) -> None:
    nvml.processes = [(child, 50_000_000_000), (1, 9_000_000_000)]
    first, second = GpuReader().sample(0.0, os.getpid()).rows
    assert first.is_trainers
    assert first.trainer_bytes == 50_000_000_000
    assert not second.is_trainers
    assert not GpuReader().sample(0.0, child + 1).rows[0].is_trainers


def test_memory_of_the_trainer_that_the_driver_does_not_tell_is_unknown(nvml: FakeNvml) -> None:
    nvml.processes = [(os.getpid(), None)]
    first, _ = GpuReader().sample(0.0, os.getpid()).rows
    assert first.is_trainers
    assert first.trainer_bytes is None


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x01, ()),
        (0x02, ()),
        (0x04, ("power cap",)),
        (0x48, ("heat",)),
        (0x60, ("heat",)),
        (0x08, ("slowdown",)),
        (0x88, ("power brake",)),
        (0x1 << 40, ()),
    ],
)
def test_why_it_is_slowed_is_said_in_words(
    nvml: FakeNvml, bits: int, words: tuple[str, ...]
) -> None:
    nvml.slowed_bits = bits
    assert GpuReader().sample(0.0, None).rows[0].slowed_by == words


def test_an_older_driver_is_asked_for_the_reasons_by_their_older_name(nvml: FakeNvml) -> None:
    nvml.slowed_bits = 0x40
    nvml.fails["nvmlDeviceGetCurrentClocksEventReasons"] = nvml.NVML_ERROR_FUNCTION_NOT_FOUND
    assert GpuReader().sample(0.0, None).rows[0].slowed_by == ("heat",)


@pytest.mark.parametrize(
    "error",
    [
        FakeNvml.NVML_ERROR_NOT_SUPPORTED,
        FakeNvml.NVML_ERROR_NO_PERMISSION,
        FakeNvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        FakeNvml.NVML_ERROR_UNKNOWN,
    ],
)
def test_what_a_gpu_does_not_tell_is_unknown_and_the_rest_is_known(
    nvml: FakeNvml, error: int
) -> None:
    known = GpuReader().sample(0.0, os.getpid()).rows[1]
    for call in [name for name in public_names() if name.startswith("nvmlDeviceGet")]:
        if call in ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"):
            continue
        nvml.fails = {f"{call} 0": error}
        first, second = GpuReader().sample(0.0, os.getpid()).rows
        assert first.word == ""
        assert second == known


def test_a_gpu_that_tells_nothing_at_all_is_still_a_row(nvml: FakeNvml) -> None:
    reader = GpuReader()
    reader.sample(0.0, None)
    nvml.fails["card 0"] = nvml.NVML_ERROR_NOT_SUPPORTED
    first, _ = reader.sample(2.0, None).rows
    assert (first.busy, first.used_bytes, first.celsius, first.watts) == (None,) * 4
    assert (first.slowed_by, first.ecc_uncorrected, first.name) == (None, None, "")


@pytest.mark.parametrize(
    "error", [FakeNvml.NVML_ERROR_GPU_IS_LOST, FakeNvml.NVML_ERROR_RESET_REQUIRED]
)
def test_a_gpu_that_is_lost_is_a_word_in_its_row_and_the_others_go_on(
    nvml: FakeNvml, error: int
) -> None:
    reader = GpuReader()
    reader.sample(0.0, None)
    nvml.xids = [(0, 79)]
    nvml.fails["card 0"] = error
    first, second = reader.sample(2.0, None).rows
    assert first.word == f"NVML's error {error}"
    assert first.xid == 79
    assert (second.busy, second.xid) == (0.91, None)


def test_an_xid_stays_on_its_row_until_a_newer_one_comes(nvml: FakeNvml) -> None:
    reader = GpuReader()
    assert [row.xid for row in reader.sample(0.0, None).rows] == [None, None]
    nvml.xids = [(1, 48), (1, 63)]
    assert [row.xid for row in reader.sample(2.0, None).rows] == [None, 63]
    assert [row.xid for row in reader.sample(4.0, None).rows] == [None, 63]


def test_gpus_that_tell_of_no_errors_are_read_all_the_same(nvml: FakeNvml) -> None:
    nvml.fails["nvmlDeviceRegisterEvents"] = nvml.NVML_ERROR_NOT_SUPPORTED
    assert len(GpuReader().sample(0.0, None).rows) == 2
    assert "nvmlEventSetWait_v2" not in nvml.calls


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("nvmlInit", FakeNvml.NVML_ERROR_LIBRARY_NOT_FOUND, NO_DRIVER),
        ("nvmlInit", FakeNvml.NVML_ERROR_DRIVER_NOT_LOADED, NO_DRIVER),
        ("nvmlInit", FakeNvml.NVML_ERROR_NO_PERMISSION, "GPUs unknown: NVML's error 4"),
        ("nvmlInit", FakeNvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "GPUs unknown: NVML's error 18"),
        ("nvmlDeviceGetCount", FakeNvml.NVML_ERROR_UNKNOWN, "GPUs unknown: NVML's error 999"),
        ("nvmlDeviceGetHandleByIndex", FakeNvml.NVML_ERROR_NO_PERMISSION, "GPUs unknown: NVML's"),
    ],
)
def test_no_driver_or_one_that_refuses_is_one_quiet_word(
    nvml: FakeNvml, call: str, error: int, words: str
) -> None:
    nvml.fails[call] = error
    gpus = GpuReader().sample(0.0, None)
    assert gpus.rows == ()
    assert gpus.word.startswith(words)


@pytest.mark.usefixtures("library")
def test_a_machine_whose_driver_finds_no_gpu_has_one_quiet_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(count=0))
    assert GpuReader().sample(0.0, None).word == "no NVIDIA GPU"


@pytest.mark.usefixtures("library")
def test_without_the_binding_there_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert GpuReader().sample(0.0, None).word == "GPUs unknown: nvidia-ml-py is not installed"


@pytest.mark.parametrize(
    "error", [FakeNvml.NVML_ERROR_UNINITIALIZED, FakeNvml.NVML_ERROR_DRIVER_NOT_LOADED]
)
def test_a_driver_that_goes_away_is_a_word_and_one_that_comes_back_is_read_again(
    nvml: FakeNvml, error: int
) -> None:
    reader = GpuReader()
    assert reader.sample(0.0, None).rows
    nvml.fails = {"card 0": error, "card 1": error, "nvmlInit": error, "nvmlShutdown": error}
    assert reader.sample(2.0, None).word == f"the NVIDIA driver is gone: NVML's error {error}"
    nvml.fails = {}
    assert reader.sample(4.0, None).rows == ()
    assert len(reader.sample(62.0, None).rows) == 2


def test_without_a_driver_its_binding_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.view.gpu._has_library", lambda: False)
    monkeypatch.setitem(sys.modules, "pynvml", None)  # to import it would fail
    assert GpuReader().sample(0.0, None).word == NO_DRIVER


def test_a_driver_that_is_missing_is_looked_for_once_a_minute(nvml: FakeNvml) -> None:
    nvml.fails["nvmlInit"] = nvml.NVML_ERROR_LIBRARY_NOT_FOUND
    reader = GpuReader()
    for now in range(0, 600, 2):
        assert reader.sample(float(now), None).word == NO_DRIVER
    assert nvml.calls.count("nvmlInit") == 10
