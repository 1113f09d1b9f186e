"""A full or failing disk costs no checkpoint, no record, and leaves no temporary file."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli import main as console
from tests.crash.faults import FailingDisk, once_after_a_save
from tests.tiny import Crashed, crash, make_tiny_run, strict_json, timeless, train_here
from trainer.cli import main
from trainer.loop import Training
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SaveError
from trainer.rundir.records.record_file import canonical
from trainer.rundir.state import State, read_state

CODES = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES]
N_PARAMS = 16_000

# the saves of steps 4, 8, 12 and 16, in order: which call on which file fails
SAVE_CALLS = [
    ("open", ".checkpoint.partial"),
    ("posix_fallocate", ".checkpoint.partial"),
    ("write", ".checkpoint.partial"),
    ("fsync", ".checkpoint.partial"),
    ("rename", ".checkpoint.partial"),
    ("open", "directory"),
    ("fsync", "directory"),
    ("fsync", ".loss.json"),
]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = make_tiny_run(tmp_path_factory.mktemp("straight") / "run", every=4)
    assert train_here(run) is Exit.FINISHED
    return run


def steps_on_disk(run: RunDirectory) -> list[int]:
    inventory = list_checkpoints(run.path, N_PARAMS)
    assert inventory.skipped == ()
    return [found.step for found in inventory.checkpoints]


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def assert_same(run: RunDirectory, straight: RunDirectory) -> None:
    """Records without a gap, and in the end the same bytes."""
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
    for name in ("step_000004.bin", "step_000016.bin"):
        assert (run.path / name).read_bytes() == (straight.path / name).read_bytes()
    assert list(run.path.glob(".*.partial")) == []


class Failure:
    """From the end of step 4's audit until it is over, calls on such a file fail."""

    def __init__(self, call: str, name: str, until_step: int) -> None:
        self.is_on = False
        self.alarms: list[tuple[str, ...]] = []
        self._target = (call, name)
        self._until_step = until_step

    def __call__(self, call: str, name: str) -> bool:
        return self.is_on and (call, name) == self._target

    def watch(self, training: Training) -> None:
        step = training.engine.step
        if step in (7, self._until_step):
            training.checkpointer.settle(wait=True)  # a save ends on the disk it began on
        self.is_on = 7 <= step < self._until_step
        self.alarms.append(training.reporter.state.alarms)


@pytest.mark.parametrize(("call", "name"), SAVE_CALLS)
@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_save_that_fails_is_an_alarm_and_the_next_cadence_tries_again(
    code: int, call: str, name: str, tmp_path: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(tmp_path / "run", every=4)
    failure = Failure(call, name, until_step=10)
    disk = FailingDisk(run.path, code, failure)
    with disk.mounted():
        assert train_here(run, dict.fromkeys(range(1, 17), failure.watch)) is Exit.FINISHED
    assert disk.failed
    assert {4, 12, 16} <= set(steps_on_disk(run))
    assert any(os.strerror(code) in alarm for alarms in failure.alarms for alarm in alarms)
    assert state_of(run).alarms == ()
    assert_same(run, straight)


@pytest.mark.parametrize(("call", "name"), SAVE_CALLS)
def test_one_error_in_a_save_is_tried_again_and_told(
    call: str, name: str, tmp_path: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(tmp_path / "run", every=4)
    disk = FailingDisk(run.path, errno.EIO, once_after_a_save(call, name))
    with disk.mounted():
        assert train_here(run) is Exit.FINISHED
    assert len(disk.failed) == 1
    assert steps_on_disk(run)[-1] == 16
    assert_same(run, straight)


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_records_wait_in_memory_for_room_and_the_history_has_no_gap(
    code: int, tmp_path: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(tmp_path / "run", every=4)
    failure = Failure("pwrite", ".loss.json", until_step=10)
    with FailingDisk(run.path, code, failure).mounted():
        assert train_here(run, dict.fromkeys(range(1, 17), failure.watch)) is Exit.FINISHED
    told = [alarm for alarms in failure.alarms for alarm in alarms]
    assert any("records wait in memory" in alarm for alarm in told)
    assert 8 not in steps_on_disk(run)  # a checkpoint never outlives its history
    assert_same(run, straight)


def test_alarm_stays_while_a_record_waits_and_the_steps_after_it_only_prove_theirs(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run")
    with pytest.raises(Crashed):
        train_here(run, {14: crash})
    lines = run.loss.read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"loss":', b'"loss":1')  # step 9 will differ
    run.loss.write_bytes(b"".join(lines))
    alarms = {}

    def remember(training: Training) -> None:
        alarms[training.engine.step] = training.reporter.state.alarms

    def fails(call: str, name: str) -> bool:
        return (call, name) == ("pwrite", ".loss.json") and max(alarms, default=0) < 12

    with FailingDisk(run.path, errno.ENOSPC, fails).mounted():
        train_here(run, dict.fromkeys(range(9, 17), remember))
    assert [step for step, told in alarms.items() if told] == [9, 10, 11, 12]
    assert list(canonical(strict_json(run.loss))) == list(range(1, 17))


def test_last_save_that_fails_for_ever_is_exit_4_and_the_next_start_goes_on(
    tmp_path: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(tmp_path / "run", every=4)
    failure = Failure("write", ".checkpoint.partial", until_step=99)
    with FailingDisk(run.path, errno.EIO, failure).mounted(), pytest.raises(SaveError) as raised:
        train_here(run, dict.fromkeys(range(1, 17), failure.watch))
    assert raised.value.exit_code is Exit.SAVE_FAILED
    assert steps_on_disk(run) == [4]
    assert train_here(run) is Exit.FINISHED
    assert_same(run, straight)


@pytest.mark.parametrize("call", ["open", "write", "replace"])
def test_state_that_cannot_be_written_stops_nothing(
    call: str, tmp_path: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(tmp_path / "run", every=4)

    def fails(this_call: str, name: str) -> bool:
        return this_call == call and name.startswith(".state.json")

    with FailingDisk(run.path, errno.ENOSPC, fails).mounted():
        assert train_here(run) is Exit.FINISHED
    assert_same(run, straight)


def test_start_is_refused_where_no_checkpoint_would_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_tiny_run(tmp_path / "run")
    real = os.statvfs(tmp_path)
    values = list(real)
    values[4] = 191_000 // real.f_frsize  # f_bavail
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(values))
    with pytest.raises(SaveError, match="a checkpoint takes 192,008"):
        train_here(run)
    assert steps_on_disk(run) == []


@pytest.mark.parametrize("name", ["trainer.lock", ".loss.json", ".samples.json", "tokenizer.json"])
def test_start_on_a_disk_that_takes_nothing_is_exit_4_in_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run")

    def fails(call: str, this_name: str) -> bool:
        return call in ("write", "pwrite") and name in this_name

    with FailingDisk(run.path, errno.EROFS, fails).mounted():
        assert main([str(run.path)]) == Exit.SAVE_FAILED
    printed = capsys.readouterr()
    assert "Read-only file system" in printed.err
    assert "Traceback" not in printed.err
    assert main([str(run.path)]) == Exit.FINISHED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """1 MB, of which a run's tokens take half: room for two checkpoints."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tmpfs needs root and the permission to mount")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_no_inode_for_a_checkpoint_is_told_before_training(
    small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(small_disk / "run")
    assert train_here(run, until=8) is Exit.FINISHED
    n_fillers = os.statvfs(small_disk).f_favail - 1
    for number in range(n_fillers):
        (small_disk / f"filler-{number}").touch()
    assert main([str(run.path)]) == Exit.SAVE_FAILED
    told = "free inodes: 1, needed: 2, one for each file"
    assert told in capsys.readouterr().err
    assert console(["status", str(run.path)]) == 1
    out = capsys.readouterr().out
    assert told in out
    assert "disk almost full: " in out
    for number in range(n_fillers):
        (small_disk / f"filler-{number}").unlink()
    assert main([str(run.path)]) == Exit.FINISHED


def test_real_disk_that_fills_up_keeps_what_is_there_and_tries_again(
    small_disk: Path, straight: RunDirectory
) -> None:
    run = make_tiny_run(small_disk / "run", every=4)
    ballast, kept = small_disk / "ballast", list[bytes]()

    def fill(training: Training) -> None:
        free = os.statvfs(small_disk)
        ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - 8192))

    def clear(training: Training) -> None:
        assert any("No space left" in alarm for alarm in training.reporter.state.alarms)
        assert steps_on_disk(run) == [4]
        assert list(run.path.glob(".checkpoint.partial")) == []
        ballast.unlink()
        kept.append((run.path / "step_000004.bin").read_bytes())
        (run.path / "step_000004.bin").unlink()

    assert train_here(run, {5: fill, 10: clear}) is Exit.FINISHED
    assert steps_on_disk(run) == [12, 16]
    assert kept == [(straight.path / "step_000004.bin").read_bytes()]
    assert (run.path / "step_000016.bin").read_bytes() == (
        straight.path / "step_000016.bin"
    ).read_bytes()
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
