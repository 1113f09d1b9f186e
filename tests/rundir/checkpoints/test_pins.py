"""Pinned checkpoints stay whatever thins, and where pins can't be known nothing goes."""

from pathlib import Path

import pytest

from tests.rundir.test_leftovers import Writer
from trainer.rundir.checkpoints.checkpoint import list_checkpoints, write_checkpoint
from trainer.rundir.checkpoints.pins import NOTE_BYTES, pin, pinned_steps, read_pins, unpin
from trainer.rundir.checkpoints.thinning import plan_of, still_going, thin
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.outcomes import HistoryError, SettingsError

SETTINGS = (
    "[model]\nvocab_size = 300\ncontext = 4\nlayers = 1\nheads = 1\nwidth = 4\n"
    "[train]\nbatch_tokens = 32\n[checkpoint]\nkeep_last = 1\nkeep_every = 1000\n"
    '[trainer]\ncommand = ["other"]\n'
)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Of the checkpoints 100 to 500 all but the last may go."""
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    run.settings.write_text(SETTINGS)
    for step in range(100, 600, 100):
        write_checkpoint(run.path, step, [memoryview(bytearray(4))] * 3)
    return run


@pytest.fixture
def settings() -> Settings:
    return parse_settings(SETTINGS)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def steps_of(run: RunDirectory) -> list[int]:
    return [found.step for found in list_checkpoints(run.path, None).checkpoints]


def test_pinned_checkpoints_stay_and_the_others_go(run: RunDirectory, settings: Settings) -> None:
    pin(run, 200, "before the spike")
    pin(run, 300, "")
    plan = plan_of(run, settings, [])
    assert plan.kept[200] == plan.kept[300] == "pinned"
    thin(run, plan)
    assert steps_of(run) == [200, 300, 500]
    assert read_pins(run) == {200: "before the spike", 300: ""}


def test_what_is_unpinned_may_go_again(run: RunDirectory, settings: Settings) -> None:
    pin(run, 200, "a note")
    (run.pins / "step_000200.txt~").write_text("an editor's")
    unpin(run, 200)
    unpin(run, 300)
    assert read_pins(run) == {}
    thin(run, plan_of(run, settings, []))
    assert steps_of(run) == [500]


def test_what_is_pinned_after_the_plan_was_made_stays(
    run: RunDirectory, settings: Settings
) -> None:
    plan = plan_of(run, settings, [])
    pin(run, 200, "")
    assert [c.step for c in thin(run, plan).going] == [100, 300, 400]
    pin(run, 500, "")
    assert still_going(run, plan, list_checkpoints(run.path, None)) == ()


def test_a_note_is_replaced_and_is_one_line_of_harmless_text(run: RunDirectory) -> None:
    pin(run, 200, "one")
    pin(run, 200, " two\nlines \x1b[2J ")
    assert read_pins(run) == {200: "two lines \\x1b[2J"}
    assert names_in(run.pins) == ["step_000200.txt"]
    with pytest.raises(SettingsError, match="less than"):
        pin(run, 200, "n" * NOTE_BYTES)


def test_a_pin_made_by_a_shell_or_an_editor_counts_and_its_damaged_note_takes_none_away(
    run: RunDirectory,
) -> None:
    run.pins.mkdir()
    for name in ("step_100", "step_000200.txt", "step_000300.txt~"):
        (run.pins / name).touch()
    (run.pins / "step_000400.txt").write_bytes(b"\xff\x00 " + b"n" * NOTE_BYTES)
    (run.pins / "step_000500.txt").write_bytes(b"\xff")
    (run.pins / ".step_000600.txt.swp").touch()
    notes = read_pins(run)
    assert pinned_steps(run) == notes.keys() == {100, 200, 300, 400, 500}
    assert "can't be read" in notes[400]
    assert notes[500] == "\ufffd"


def _file(pins: Path) -> None:
    pins.write_text("{}")


def _link_to_nothing(pins: Path) -> None:
    pins.symlink_to("gone")


def _foreign(pins: Path) -> None:
    pins.mkdir()
    (pins / "step_000200.txt").touch()
    (pins / "step_12345678901.txt").touch()


@pytest.mark.parametrize("damage", [_file, _link_to_nothing, _foreign])
def test_pins_that_can_not_be_known_let_nothing_go(
    damage: object, run: RunDirectory, settings: Settings
) -> None:
    assert callable(damage)
    plan = plan_of(run, settings, [])
    damage(run.pins)
    for refused in (
        lambda: plan_of(run, settings, []),
        lambda: thin(run, plan),
        lambda: still_going(run, plan, list_checkpoints(run.path, None)),
    ):
        with pytest.raises(HistoryError, match=r"pins.*until then all stay"):
            refused()
    assert steps_of(run) == [100, 200, 300, 400, 500]


def test_pins_are_not_written_through_a_link_into_another_run(
    run: RunDirectory, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run.pins.symlink_to(other)
    with pytest.raises(HistoryError, match="is a link"):
        pin(run, 200, "")
    assert names_in(other) == []
    run.pins.unlink()
    run.pins.write_text("mine")
    with pytest.raises(HistoryError, match="is no folder"):
        pin(run, 200, "")
    assert run.pins.read_text() == "mine"


def test_what_a_killed_writer_left_is_cleared_by_the_next_trainer(run: RunDirectory) -> None:
    pin(run, 200, "old")
    writer = Writer(run.pins / "step_000200.txt")
    writer.is_killed()
    assert read_pins(run) == {200: "old"}
    assert remove_leftovers(run) == [f"pins/{writer.beside.name}"]
    assert names_in(run.pins) == ["step_000200.txt"]
