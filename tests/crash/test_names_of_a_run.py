"""Whatever becomes of the names of a run's directory and lock, it is trained on whole, or in words
not at all, and no other run is written into.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.name_deeds import DEEDS
from tests.crash.name_states import NameExplorer
from trainer.persistence.hold import Hold
from trainer.rundir.directory import HeldDirectory
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> NameExplorer:
    return NameExplorer(tmp_path_factory.mktemp("names"))


def test_each_deed_to_a_name_at_a_drawn_moment_costs_nothing(explorer: NameExplorer) -> None:
    tally = explorer.explore(len(DEEDS))
    assert tally.failures == []
    assert tally.resumed >= len(DEEDS) - 2
    print(f"{len(DEEDS)} deeds, {tally.states} crash states, {tally.resumed} trained to the end")


def go_by_the_name(patch: pytest.MonkeyPatch) -> None:
    real: Callable[..., None] = HeldDirectory.__init__

    def by_name(self: HeldDirectory, path: Path) -> None:
        real(self, path)
        self.run = RunDirectory(path)

    patch.setattr(HeldDirectory, "__init__", by_name)


def look_at_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Hold, "look", lambda *_: None)


def keep_no_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TrainerLock, "keep", lambda _: "")


def lock_the_file_alone(patch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> None:
        """A directory without a lock."""

    patch.setattr(TrainerLock, "_lock_directory", nothing)


@pytest.mark.parametrize(
    ("break_trainer", "deed", "found"),
    [
        (go_by_the_name, "replace", "another run was written into"),
        (look_at_nothing, "rename", "not a word of it"),
        (look_at_nothing, "delete", "steps were trained after it"),
        (keep_no_lock, "take_lock", "steps were trained after it"),
        (lock_the_file_alone, "unlink_lock", "a second trainer could start"),
    ],
)
def test_a_trainer_that_goes_by_names_is_found_out(
    explorer: NameExplorer,
    monkeypatch: pytest.MonkeyPatch,
    break_trainer: Callable[[pytest.MonkeyPatch], None],
    deed: str,
    found: str,
) -> None:
    break_trainer(monkeypatch)
    failures = explorer.explore(2, names=(deed,)).failures
    assert any(found in failure for failure in failures), failures
