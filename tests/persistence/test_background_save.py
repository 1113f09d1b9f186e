"""Saves in the background: the file holds the state of its step, whatever comes meanwhile."""

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.waiting import wait_for
from trainer.engine.parameters import FlatParameters, as_memoryview
from trainer.engine.snapshot import LiveSnapshot
from trainer.persistence.background_save import Saver
from trainer.rundir import atomic
from trainer.rundir.checkpoints import checkpoint as checkpoint_module
from trainer.rundir.checkpoints.checkpoint import Checkpoint, list_checkpoints, read_checkpoint_into

N_PARAMS = 3 << 20  # twelve million bytes an array: several chunks each


@pytest.fixture
def parameters() -> FlatParameters:
    """Buffers whose three arrays differ in every element."""
    model = torch.nn.Linear(1 << 10, 3 << 10, bias=False)
    flat = FlatParameters(model, torch.device("cpu"))
    for number, array in enumerate((flat.weights, flat.m, flat.v)):
        torch.arange(N_PARAMS, out=array.view(N_PARAMS)).add_(number)
    return flat


@pytest.fixture
def synced() -> list[str]:
    return []


@pytest.fixture
def saver(tmp_path: Path, parameters: FlatParameters, synced: list[str]) -> Iterator[Saver]:
    saver = Saver(tmp_path, parameters, lambda: synced.append("history"))
    yield saver
    saver.close()


def newest(directory: Path) -> Checkpoint:
    found = list_checkpoints(directory, N_PARAMS).newest
    assert found is not None
    return found


def read(checkpoint: Checkpoint) -> list[torch.Tensor]:
    arrays = [torch.zeros(N_PARAMS) for _ in range(3)]
    read_checkpoint_into(checkpoint, [as_memoryview(array) for array in arrays])
    return arrays


def state_of(parameters: FlatParameters) -> list[torch.Tensor]:
    return [array.clone() for array in (parameters.weights, parameters.m, parameters.v)]


def update(parameters: FlatParameters) -> None:
    for array in (parameters.weights, parameters.m, parameters.v):
        array.add_(1000.0)


def assert_equal(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.equal(mine, other)


class HeldWriter:
    """Stops the writer before a chunk until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at_chunk: int) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self._rest = at_chunk
        self._write = atomic.write_fully
        monkeypatch.setattr(checkpoint_module, "write_fully", self.write)

    def write(self, fd: int, data: bytes | memoryview) -> None:
        if self._rest == 0:
            self.reached.set()
            assert self.go.wait(60)
        self._rest -= 1
        self._write(fd, data)


def start_update(saver: Saver, parameters: FlatParameters) -> threading.Thread:
    """An update that waits, when this returns, for the chunk that is being written."""

    def secured_update() -> None:
        saver.before_update()
        update(parameters)

    thread = threading.Thread(target=secured_update)
    thread.start()
    snapshot = saver._snapshot
    assert isinstance(snapshot, LiveSnapshot)
    wait_for(snapshot._turnstile.locked, "the update at the turnstile")
    return thread


def test_file_holds_the_state_at_its_step_when_nothing_comes_between(
    saver: Saver, parameters: FlatParameters, tmp_path: Path, synced: list[str]
) -> None:
    before = state_of(parameters)
    saver.begin(7)
    saver.collect()
    assert newest(tmp_path).step == 7
    assert_equal(read(newest(tmp_path)), before)
    assert synced == ["history"]


@pytest.mark.parametrize("n_chunks_written", [1, 2, 4])
def test_update_during_a_slow_save_does_not_reach_the_file(
    n_chunks_written: int,
    saver: Saver,
    parameters: FlatParameters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = state_of(parameters)
    writer = HeldWriter(monkeypatch, at_chunk=n_chunks_written)
    saver.begin(100)
    assert writer.reached.wait(60)
    updates = start_update(saver, parameters)
    writer.go.set()
    updates.join()
    for _ in range(2):  # the disk is slower than three steps
        saver.before_update()
        update(parameters)
    saver.collect()
    assert_equal(read(newest(tmp_path)), before)


def test_two_saves_back_to_back_hold_the_states_of_their_steps(
    saver: Saver, parameters: FlatParameters, tmp_path: Path
) -> None:
    states = {}
    for step in (1, 2):
        states[step] = state_of(parameters)
        saver.begin(step)
        saver.before_update()
        update(parameters)
        saver.collect()
    for checkpoint in list_checkpoints(tmp_path, N_PARAMS).checkpoints:
        assert_equal(read(checkpoint), states[checkpoint.step])


def test_nothing_is_copied_where_the_file_is_written_before_the_update(
    parameters: FlatParameters,
) -> None:
    snapshot = LiveSnapshot(parameters.host_arrays())
    for _ in snapshot.chunks():
        pass
    snapshot.secure()
    assert snapshot.copied_bytes == 0
    unread = LiveSnapshot(parameters.host_arrays())
    unread.secure()
    assert unread.copied_bytes == 3 * 4 * N_PARAMS


def fail_first(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    real = atomic.write_fully
    left = [failures]

    def write(fd: int, data: bytes | memoryview) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, "Input/output error")
        real(fd, data)

    monkeypatch.setattr(checkpoint_module, "write_fully", write)


def test_one_write_error_is_tried_again_and_told(
    saver: Saver, parameters: FlatParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_first(monkeypatch, 1)
    saver.begin(5)
    saver.collect()
    assert "Input/output error" in saver.retried
    assert_equal(read(newest(tmp_path)), state_of(parameters))


def test_lasting_write_error_is_raised_and_leaves_nothing(
    saver: Saver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_first(monkeypatch, 100)
    saver.begin(5)
    with pytest.raises(OSError, match="Input/output error"):
        saver.collect()
    assert list(tmp_path.iterdir()) == []


def test_update_between_a_failed_try_and_the_next_does_not_reach_the_file(
    saver: Saver, parameters: FlatParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state_of(parameters)
    failing, tried_again = [True], threading.Event()

    def sync_directory(directory: Path) -> None:
        if failing.pop():  # the first file is whole and has its name
            failing.append(False)
            raise OSError(errno.EIO, "Input/output error")
        failing.append(False)

    def sync_history() -> None:
        if not failing[0]:
            saver.before_update()
            update(parameters)
            tried_again.set()

    monkeypatch.setattr(checkpoint_module, "sync_directory", sync_directory)
    monkeypatch.setattr(saver, "_sync_history", sync_history)
    saver.begin(5)
    saver.collect()
    assert tried_again.is_set()
    assert_equal(read(newest(tmp_path)), before)


def test_a_try_that_would_read_later_values_is_not_made(
    saver: Saver, parameters: FlatParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = HeldWriter(monkeypatch, at_chunk=2)
    saver.begin(5)
    assert writer.reached.wait(60)
    updates = start_update(saver, parameters)
    fail_first(monkeypatch, 100)
    writer.go.set()
    updates.join()
    with pytest.raises(OSError, match="Input/output error"):
        saver.collect()
    assert saver.retried == ""
    assert list(tmp_path.iterdir()) == []
