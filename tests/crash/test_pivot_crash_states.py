"""Whatever state a crash of a pivot leaves, both ways out of it end in a consistent run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.pivot_states import PivotExplorer, recorded_pivots
from tests.crash.pivots import Recorded, go_back, go_on, record_pivot
from tests.crash.recording import Enter, Operation, Remove, SyncDirectory, SyncFile
from tests.crash.states import Directory, final, read_tree, states_after
from trainer.rundir.pivot.journal import Stage

TREE = (Enter("a", 1, is_directory=True), Enter("b", 2, is_directory=True), SyncDirectory())
MOVED = (Enter("f", 3, directory=1), SyncDirectory(1), Enter("f", 3, directory=2))


def directories(*trace: Operation) -> set[tuple[str, ...]]:
    states: list[Directory] = list(states_after(trace, len(trace), at_most=64, seed=0))
    return {tuple(sorted(path for path in state if not path.endswith("/"))) for state in states}


def test_file_moved_to_another_directory_has_at_least_one_name() -> None:
    trace = (*TREE, *MOVED, Remove("f", 1, moved=3))
    assert directories(*trace) == {("a/f",), ("a/f", "b/f"), ("b/f",)}
    assert directories(*trace, SyncDirectory(2)) == {("a/f", "b/f"), ("b/f",)}
    assert directories(*trace, SyncDirectory(2), SyncDirectory(1)) == {("b/f",)}


def test_sync_of_a_directory_makes_no_name_in_another_durable() -> None:
    trace = (*TREE, Enter("f", 3, directory=1), SyncDirectory(), SyncDirectory(2))
    assert directories(*trace) == {(), ("a/f",)}


def test_renamed_directory_takes_its_files_along() -> None:
    trace = (*TREE, Enter("f", 3, directory=1), SyncDirectory(1), Enter("c", 1, "a"))
    assert directories(*trace) == {("a/f",), ("c/f",)}


def test_trace_holds_every_change_that_a_pivot_makes(tmp_path: Path) -> None:
    for name, back_from in (("on", None), ("back", Stage.COMMITTED)):
        recorded = record_pivot(tmp_path / name, back_from=back_from)
        assert final(recorded.trace) == read_tree(tmp_path / name)


def test_both_ways_out_of_every_state_tried_end_in_a_consistent_run(tmp_path: Path) -> None:
    explorer = PivotExplorer(tmp_path, at_most=2)
    for recorded in recorded_pivots(tmp_path, kill_every=60):
        explorer.explore(recorded)
    assert explorer.tally.failures == []
    assert explorer.tally.states > 100
    print(f"{explorer.tally.states} crash states of pivots tried, each both ways")


@pytest.mark.parametrize("then", [go_on, go_back])
@pytest.mark.parametrize(
    ("name", "nth", "back_from"),
    [
        pytest.param("phase_001", 1, None, id="archive"),
        pytest.param(".phase_001.partial", 1, Stage.COMMITTED, id="archive that goes"),
        pytest.param("pivot.json", 2, None, id="journal of held"),
        pytest.param("pivot.json", 1, Stage.ARCHIVED, id="journal that goes back"),
    ],
)
def test_name_that_a_killed_process_gave_is_not_taken_for_durable(
    name: str, nth: int, back_from: Stage | None, then: Callable[..., None], tmp_path: Path
) -> None:
    made = record_pivot(tmp_path / "whole", back_from=back_from)
    given = [
        number
        for number, operation in enumerate(made.trace, start=1)
        if number > made.begins and isinstance(operation, Enter) and operation.name == name
    ][nth - 1]
    killed = record_pivot(
        tmp_path / "killed", back_from=back_from, kill_after=given - made.adopted, then=then
    )
    explorer = PivotExplorer(tmp_path, at_most=4)
    explorer.explore(killed, until_failure=True)
    assert explorer.tally.failures == []
    assert explorer.tally.states > 5


def is_sync_of(name: str) -> Callable[[Operation], bool]:
    return lambda operation: isinstance(operation, SyncFile) and name in operation.name


@pytest.mark.parametrize(
    ("is_forgotten", "back_from"),
    [
        pytest.param(is_sync_of(".loss.json"), None, id="history"),
        pytest.param(is_sync_of(".pivot.json"), None, id="journal"),
        pytest.param(is_sync_of(".state.json"), None, id="archived bandit"),
        pytest.param(is_sync_of(".run.toml"), None, id="settings"),
        pytest.param(is_sync_of(".run.toml"), Stage.COMMITTED, id="settings put back"),
        pytest.param(lambda operation: operation == SyncDirectory(), None, id="run directory"),
    ],
)
def test_each_sync_of_a_pivot_that_is_left_out_is_found(
    is_forgotten: Callable[[Operation], bool], back_from: Stage | None, tmp_path: Path
) -> None:
    recorded = record_pivot(tmp_path / "pivot", back_from=back_from)
    begins = recorded.begins
    kept = [o for o in recorded.trace[begins:] if not is_forgotten(o)]
    without: Recorded = replace(recorded, trace=[*recorded.trace[:begins], *kept])
    explorer = PivotExplorer(tmp_path, at_most=4)
    explorer.explore(without, until_failure=True)
    assert explorer.tally.failures
