"""What trainers need of the memory, against what is free."""

from pathlib import Path

import pytest

from console.fork import memory_need
from console.fork.memory_need import MemoryNeed, memory_needs
from console.process.card_memory import CardMemory
from tests.tiny import make_tiny_run
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.memory import Memory
from trainer.rundir.state import State, write_state

GB = 10**9


@pytest.mark.parametrize(
    ("is_measured", "free_bytes", "n", "enough"),
    [
        (True, 5 * GB, 2, True),
        (True, 3 * GB, 2, False),
        (False, 5 * GB, 2, None),
        (False, 3 * GB, 2, False),
        (True, None, 1, None),
    ],
)
def test_only_a_measured_need_that_finds_room_is_green(
    is_measured: bool, free_bytes: int | None, n: int, enough: bool | None
) -> None:
    need = MemoryNeed(
        where="memory", each_bytes=2 * GB, is_measured=is_measured, free_bytes=free_bytes
    )
    assert need.is_enough(n) is enough


def test_need_is_what_this_runs_trainer_had_and_else_the_least_that_any_has(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "v3")
    (least,) = memory_needs(run)
    n_params = load_settings(run.settings).model.n_params
    assert (least.each_bytes, least.is_measured) == (16 * n_params, False)
    assert least.free_bytes
    write_state(run.state, State(doing="training", memory=Memory(peak_bytes=7 * GB)))
    (measured,) = memory_needs(run)
    assert (measured.each_bytes, measured.is_measured) == (7 * GB, True)


def test_card_is_told_of_where_a_trainer_may_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def card(pid: int | None, index: int | None) -> CardMemory:
        asked.append((pid, index))
        return CardMemory(card="A card", used_bytes=3 * GB, free_bytes=4 * GB)

    monkeypatch.setattr(memory_need, "card_memory", card)
    run = make_tiny_run(tmp_path / "v3")
    assert len(memory_needs(run)) == 1, "the tiny run trains on the CPU"
    run.settings.write_text(run.settings.read_text().replace('"cpu"', '"cuda:1"'))
    _, of_card = memory_needs(run)
    assert asked == [(None, 1)]
    assert of_card.words(2) == "A card: about 6.00 GB more is needed; 4.00 GB is free"
    assert of_card.is_enough(2) is False
