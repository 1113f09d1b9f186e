import errno
import hashlib
import os
import random
import struct
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rundir.faulty_os import FOLDER, each_fault, files_in, recorded_os
from trainer.rundir.checkpoints.checkpoint import (
    Checkpoint,
    Skipped,
    Written,
    check_limits,
    checkpoint_bytes,
    checkpoint_name,
    inspect_checkpoint,
    list_checkpoints,
    read_checkpoint_into,
    write_checkpoint,
    write_chunks,
)
from trainer.rundir.outcomes import HistoryError

ROOT = Path(__file__).parents[2]
N_PARAMS = 5


def _arrays(first: float = 0.0) -> list[memoryview]:
    return [
        memoryview(array("f", [first + part + n / 8 for n in range(N_PARAMS)])) for part in range(3)
    ]


def _save(folder: Path, step: int, first: float = 0.0) -> Written:
    return write_checkpoint(folder, step, _arrays(first))


def _put(folder: Path, step: int, n_params: int = N_PARAMS) -> Path:
    """A whole checkpoint, written plainly."""
    path = folder / checkpoint_name(step)
    path.write_bytes(struct.pack("<ii", step, n_params) + bytes(12 * n_params))
    return path


def test_the_file_is_header_weights_m_v_in_little_endian(tmp_path: Path) -> None:
    written = _save(tmp_path, 1234)
    data = (tmp_path / "step_001234.bin").read_bytes()
    values = [value for part in _arrays() for value in part.tolist()]
    assert data == struct.pack("<ii15f", 1234, N_PARAMS, *values)
    assert written.path == tmp_path / "step_001234.bin"
    assert written.n_bytes == len(data) == checkpoint_bytes(N_PARAMS)
    assert written.sha256 == hashlib.sha256(data).hexdigest()


def test_arrays_longer_than_a_chunk_are_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.rundir.checkpoints.checkpoint.CHUNK_BYTES", 7)
    written = _save(tmp_path, 1)
    assert written.sha256 == hashlib.sha256(written.path.read_bytes()).hexdigest()
    assert written.path.stat().st_size == checkpoint_bytes(N_PARAMS)


@pytest.mark.parametrize("n_bytes", [0, 12 * N_PARAMS - 1, 12 * N_PARAMS + 1])
def test_chunks_that_are_not_the_whole_state_never_get_the_name(
    tmp_path: Path, n_bytes: int
) -> None:
    with pytest.raises(AssertionError, match="not weights, m and v"):
        write_chunks(tmp_path, 1, N_PARAMS, [memoryview(bytes(n_bytes))])
    assert files_in(tmp_path) == {}


def test_a_device_that_fails_while_it_is_copied_leaves_no_partial(tmp_path: Path) -> None:
    def chunks() -> Iterator[memoryview]:
        yield memoryview(bytes(8))
        raise RuntimeError("the device is lost")

    with pytest.raises(RuntimeError, match="lost"):
        write_chunks(tmp_path, 1, N_PARAMS, chunks())
    assert files_in(tmp_path) == {}


def test_space_data_fsync_rename_and_fsync_of_the_directory_come_in_this_order(
    tmp_path: Path,
) -> None:
    with recorded_os() as calls:
        _save(tmp_path, 1)
    beside, folder = ".checkpoint.partial", tmp_path.name
    assert calls == [
        f"open {beside}",
        f"posix_fallocate {beside}",
        *[f"write {beside}"] * 4,
        f"fsync {beside}",
        f"close {beside}",
        f"rename {beside}",
        f"open {folder}",
        f"fsync {folder}",
        f"close {folder}",
    ]


def test_a_fault_at_any_call_leaves_no_partial_and_the_old_checkpoints_untouched(
    tmp_path: Path,
) -> None:
    def save_second(folder: Path) -> None:
        _put(folder, 100)
        _save(folder, 200)

    for call, folder in each_fault(save_second, tmp_path):
        inventory = list_checkpoints(folder, N_PARAMS)
        is_after_rename = call.endswith(FOLDER)
        assert [c.step for c in inventory.checkpoints] == [100, 200][: 1 + is_after_rename], call
        assert len(files_in(folder)) == len(inventory.checkpoints), call


def test_a_save_repeated_after_a_failed_sync_of_the_directory_leaves_one_file(
    tmp_path: Path,
) -> None:
    with recorded_os() as calls:
        _save(tmp_path, 1)
    last_sync = len(calls) - 2
    with recorded_os(last_sync), pytest.raises(OSError, match="error"):
        _save(tmp_path, 2)
    _save(tmp_path, 2)
    assert set(files_in(tmp_path)) == {"step_000001.bin", "step_000002.bin"}


def test_a_file_system_that_cannot_reserve_is_no_error(tmp_path: Path) -> None:
    with recorded_os(1, errno.EOPNOTSUPP) as calls:
        _save(tmp_path, 1)
    assert calls[1].startswith("posix_fallocate")
    assert list_checkpoints(tmp_path, N_PARAMS).newest is not None


def test_a_whole_checkpoint_with_other_bytes_is_kept_and_told_of(tmp_path: Path) -> None:
    _save(tmp_path, 1, first=1.0)
    theirs = (tmp_path / "step_000001.bin").read_bytes()
    assert _save(tmp_path, 1, first=2.0).aside == tmp_path / "step_000001.bin.rejected-1"
    kept = files_in(tmp_path)
    assert kept.pop("step_000001.bin.rejected-1") == theirs
    assert list(kept) == ["step_000001.bin"]
    assert kept["step_000001.bin"] != theirs
    assert _save(tmp_path, 1, first=2.0).aside is None
    assert len(files_in(tmp_path)) == 2


def test_the_rest_of_a_killed_save_is_used_up_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".checkpoint.partial").write_bytes(b"longer than the next one" * 9)
    _save(tmp_path, 2, first=9.0)
    assert set(files_in(tmp_path)) == {"step_000002.bin"}
    assert list_checkpoints(tmp_path, N_PARAMS).skipped == ()


def test_a_damaged_file_with_the_wanted_name_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "step_000007.bin"
    for damaged in (b"half", b""):
        path.write_bytes(damaged)
        written = _save(tmp_path, 7)
    kept = files_in(tmp_path)
    assert kept.pop("step_000007.bin") == written.path.read_bytes()
    assert kept == {"step_000007.bin.rejected-1": b"half", "step_000007.bin.rejected-2": b""}


def test_whole_file_of_other_bytes_with_the_wanted_name_is_moved_aside_and_its_like_is_not(
    tmp_path: Path,
) -> None:
    written = _save(tmp_path, 7)
    ours = written.path.read_bytes()
    other = ours[:-1] + bytes([ours[-1] ^ 1])
    written.path.write_bytes(other)
    aside = tmp_path / "step_000007.bin.rejected-1"
    assert [_save(tmp_path, 7).aside for _ in range(2)] == [aside, None]
    assert files_in(tmp_path) == {"step_000007.bin": ours, aside.name: other}


def test_saves_leave_no_descriptor_open(tmp_path: Path) -> None:
    def n_open() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = n_open()
    for step in range(20):
        _save(tmp_path, step)
    assert n_open() == before


_ENDLESS_SAVES = """
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from trainer.rundir.checkpoints.checkpoint import write_checkpoint
step = int(sys.argv[2])
while True:
    step += 1
    write_checkpoint(Path(sys.argv[1]), step, [memoryview(array("f", [step]) * 50_000)] * 3)
    print(step, flush=True)
"""


def test_a_save_killed_at_any_moment_leaves_whole_checkpoints_only(tmp_path: Path) -> None:
    chance = random.Random(0)
    step = 0
    for _ in range(8):
        command = [sys.executable, "-c", _ENDLESS_SAVES, str(tmp_path), str(step)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            for _ in range(chance.randint(1, 4)):
                told = int(child.stdout.readline())
            deadline = time.monotonic() + chance.random() / 100
            while time.monotonic() < deadline:
                pass
            child.kill()
        inventory = list_checkpoints(tmp_path, 50_000)
        assert inventory.newest
        assert inventory.skipped == ()
        step = inventory.newest.step
        assert step >= told
        weights, m, v = (array("f", [0.0]) * 50_000 for _ in range(3))
        read_checkpoint_into(inventory.newest, [memoryview(part) for part in (weights, m, v)])
        assert set(weights) == set(m) == set(v) == {float(step)}
    assert set(files_in(tmp_path)) - {".checkpoint.partial"} == {
        checkpoint_name(n) for n in range(1, step + 1)
    }


@pytest.mark.parametrize("last", [10_000, 1_000_000])
def test_the_newest_is_the_largest_by_number_whatever_the_times_say(
    tmp_path: Path, last: int
) -> None:
    steps = list(range(last - 300, last + 200, 100))
    chance = random.Random(last)
    for step in chance.sample(steps, len(steps)):
        path = _put(tmp_path, step)
        os.utime(path, (0, chance.randint(0, 10**9)))
    inventory = list_checkpoints(tmp_path, N_PARAMS)
    assert [c.step for c in inventory.checkpoints] == steps
    assert inventory.newest == inventory.checkpoints[-1]
    assert inventory.newest.modified == inventory.newest.path.stat().st_mtime


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("step_000100.bin", b"", "0 bytes: too short for a header"),
        ("step_000100.bin", struct.pack("<ii", 100, 5) + bytes(59), "67 bytes instead of 68"),
        ("step_000100.bin", struct.pack("<ii", 100, 5) + bytes(61), "69 bytes instead of 68"),
        ("step_000100.bin", struct.pack("<ii", 99, 5) + bytes(60), "header says step 99, name"),
        ("step_000100.bin", struct.pack("<ii", 100, 4) + bytes(48), "4 parameters, the model has"),
        ("step_000100.bin", struct.pack("<ii", 100, -5) + bytes(60), "-5 parameters"),
        ("step_0000100.bin", struct.pack("<ii", 100, 5) + bytes(60), "name is not step_000100.bin"),
        ("step_100.bin", struct.pack("<ii", 100, 5) + bytes(60), "name is not step_000100.bin"),
    ],
)
def test_what_contradicts_itself_is_skipped_with_the_reason_and_stays(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(data)
    good = _put(tmp_path, 50)
    inventory = list_checkpoints(tmp_path, N_PARAMS)
    assert inventory.newest
    assert inventory.newest.path == good
    assert [skip.path.name for skip in inventory.skipped] == [name]
    assert reason in inventory.skipped[0].reason
    assert (tmp_path / name).read_bytes() == data


def test_a_folder_with_the_name_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "step_000001.bin").mkdir()
    assert "is a folder, not a file" in list_checkpoints(tmp_path, N_PARAMS).skipped[0].reason


def test_other_names_are_no_checkpoints(tmp_path: Path) -> None:
    for name in ("step_000001.bin.rejected-1", ".checkpoint.partial", "step_.bin", "run.toml"):
        (tmp_path / name).write_bytes(b"x")
    inventory = list_checkpoints(tmp_path, N_PARAMS)
    assert (inventory.checkpoints, inventory.skipped, inventory.newest) == ((), (), None)
    assert list_checkpoints(tmp_path / "absent", N_PARAMS) == inventory


def test_without_a_model_the_headers_count_is_taken(tmp_path: Path) -> None:
    _put(tmp_path, 1, n_params=3)
    _put(tmp_path, 2, n_params=4)
    assert len(list_checkpoints(tmp_path, None).checkpoints) == 2


@given(data=st.binary(max_size=100), n_params=st.none() | st.integers(0, 10))
def test_any_bytes_are_judged_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, n_params: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "step_000001.bin"
    path.write_bytes(data)
    found = inspect_checkpoint(path, 1, n_params)
    assert isinstance(found, Skipped) or (isinstance(found, Checkpoint) and len(data) % 12 == 8)


@pytest.mark.parametrize("limits", [{"step": 2**31}, {"n_params": 2**31}, {"step": -1}])
def test_numbers_beyond_the_int32_header_are_a_clear_error(limits: dict[str, int]) -> None:
    with pytest.raises(HistoryError, match=r"int32 header \(at most 2,147,483,647\)"):
        check_limits(**{"step": 0, "n_params": 0, **limits})
    check_limits(step=2**31 - 1, n_params=2**31 - 1)


def test_a_step_too_large_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        _save(tmp_path, 2**31)
    assert files_in(tmp_path) == {}


def test_reading_fills_the_very_buffers(tmp_path: Path) -> None:
    _save(tmp_path, 1, first=3.5)
    newest = list_checkpoints(tmp_path, N_PARAMS).newest
    assert newest
    buffers = [array("f", [0.0]) * N_PARAMS for _ in range(3)]
    read_checkpoint_into(newest, [memoryview(buffer) for buffer in buffers])
    assert [memoryview(buffer) for buffer in buffers] == _arrays(3.5)


def test_a_file_cut_after_it_was_listed_is_a_clear_error(tmp_path: Path) -> None:
    _save(tmp_path, 1)
    newest = list_checkpoints(tmp_path, N_PARAMS).newest
    assert newest
    os.truncate(newest.path, 40)
    with pytest.raises(HistoryError, match=r"step_000001\.bin: ends early"):
        read_checkpoint_into(newest, _arrays())
