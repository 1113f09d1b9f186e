"""Whatever state a crash leaves, the next start resumes from the newest durable checkpoint."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.recording import Enter, Operation, SyncDirectory, SyncFile, Write
from tests.crash.states import Directory, final, read_tree, states_after
from tests.crash.training_states import explore
from tests.crash.workload import Truth, make_truth, record_training


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return make_truth(tmp_path_factory.mktemp("truth") / "run")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def trace(truth: Truth, folder: Path) -> list[Operation]:
    return record_training(folder / "run", truth, thins=True)


def test_trace_holds_every_write_to_the_directory(trace: list[Operation], folder: Path) -> None:
    assert final(trace) == read_tree(folder / "run", ignored="tokens")


def test_every_state_tried_resumes_from_the_newest_durable_checkpoint(
    trace: list[Operation], truth: Truth, tmp_path: Path
) -> None:
    tally = explore(trace, truth, tmp_path, at_most=4, resume_every=150)
    assert tally.failures == []
    assert tally.states > 300
    assert tally.resumed >= 2
    print(f"{tally.states} crash states tried, {tally.resumed} of them trained to the end")


def is_sync_of(name: str) -> Callable[[Operation], bool]:
    return lambda operation: isinstance(operation, SyncFile) and operation.name == name


@pytest.mark.parametrize(
    "is_forgotten",
    [
        pytest.param(is_sync_of(".checkpoint.partial"), id="checkpoint"),
        pytest.param(is_sync_of(".loss.json"), id="history"),
        pytest.param(lambda operation: isinstance(operation, SyncDirectory), id="directory"),
    ],
)
def test_each_sync_that_is_left_out_is_found(
    is_forgotten: Callable[[Operation], bool],
    trace: list[Operation],
    truth: Truth,
    tmp_path: Path,
) -> None:
    begun = next(n for n, operation in enumerate(trace) if isinstance(operation, SyncDirectory))
    without = [*trace[: begun + 1], *(o for o in trace[begun + 1 :] if not is_forgotten(o))]
    assert explore(without[:120], truth, tmp_path, at_most=4).failures


def directories(*trace: Operation) -> set[tuple[tuple[str, bytes], ...]]:
    states: list[Directory] = list(states_after(trace, len(trace), at_most=64, seed=0))
    return {tuple(sorted(state.items())) for state in states}


def test_unsynced_write_may_be_there_whole_in_part_as_zeros_or_not() -> None:
    born = (Enter("a", 1), SyncDirectory(), Write(1, 0, b"abcd"))
    assert directories(*born) == {
        (("a", b"abcd"),),
        (("a", b"ab"),),
        (("a", bytes(4)),),
        (("a", b""),),
    }
    assert directories(*born, SyncFile(1, "a")) == {(("a", b"abcd"),)}


def test_all_choices_are_tried_where_there_is_no_bound() -> None:
    writes = [Write(1, n, b"x") for n in range(6)]
    born: list[Operation] = [Enter("a", 1), SyncDirectory(), *writes]
    assert len(list(states_after(born, len(born), at_most=0, seed=0))) == 4**6
    assert len(list(states_after(born, len(born), at_most=64, seed=0))) < 4**6


def test_rename_may_be_lost_until_the_directory_is_synced() -> None:
    trace = (
        *(Enter("b", 1), Write(1, 0, b"x"), SyncFile(1, "b"), SyncDirectory()),
        Enter("c", 1, "b"),
    )
    assert directories(*trace) == {(("b", b"x"),), (("c", b"x"),)}
    assert directories(*trace, SyncDirectory()) == {(("c", b"x"),)}
