"""A pinned checkpoint stays through a real training that thins, whatever happens to the run."""

from pathlib import Path

import orjson
import pytest

from console.cli import main
from console.operations.operations import Operations
from tests.tiny import Crashed, ask_stop, crash, make_tiny_run, train_here
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.pins import pin, read_pins
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import read_state
from trainer.rundir.verification import verify


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Thins at each save but for the newest."""
    run = make_tiny_run(tmp_path / "run", every=2)
    text = run.settings.read_text().replace(
        "[checkpoint]", "[checkpoint]\nkeep_last = 1\nkeep_every = 1000"
    )
    run.settings.write_text(text)
    return run


def steps_of(run: RunDirectory) -> set[int]:
    return {found.step for found in list_checkpoints(run.path, None).checkpoints}


def test_a_pinned_checkpoint_stays_through_cadence_crash_resume_rename_and_fork(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operations = Operations(run)
    with pytest.raises(Crashed):
        train_here(run, {4: lambda _: pin(run, 4, "good"), 9: crash})
    assert 4 in steps_of(run)
    train_here(run, {12: ask_stop})
    assert 4 in steps_of(run)
    assert len(steps_of(run)) < 4
    assert operations.pin((12,), "here, too").ok
    run = RunDirectory(run.path.rename(tmp_path / "renamed"))
    assert train_here(run) is Exit.FINISHED
    assert {4, 12} < steps_of(run)
    fork = make_fork(run, 4, "fork", settings={}, change=None, t=1.0)
    assert read_pins(fork) == {4: "good"}
    assert train_here(fork, {9: ask_stop}) is Exit.TERMINATED
    assert 4 in steps_of(fork)
    assert read_pins(run) == {4: "good", 12: "here, too"}
    capsys.readouterr()
    main(["status", str(run.path), "--json"])
    told = orjson.loads(capsys.readouterr().out)
    assert told["pinned"] == [
        {"step": 4, "file": "step_000004.bin", "note": "good"},
        {"step": 12, "file": "step_000012.bin", "note": "here, too"},
    ]


def test_pins_that_can_not_be_read_stop_the_trainers_thinning_with_an_alarm_and_no_more(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    run.pins.mkdir()
    (run.pins / "notes").touch()
    assert train_here(run, {8: ask_stop}) is Exit.TERMINATED
    assert steps_of(run) == {2, 4, 6, 8}
    state = read_state(run.state)
    assert state is not None
    assert any("not thinned" in alarm and "is no pin" in alarm for alarm in state.alarms)
    assert [f.what for f in verify(run) if f.part == "pins" and "is no pin" in f.what]
    capsys.readouterr()
    main(["status", str(run.path)])
    assert "until then all stay" in capsys.readouterr().out
    (run.pins / "notes").unlink()
    assert train_here(run) is Exit.FINISHED
    assert len(steps_of(run)) < 4
    assert not [f for f in verify(run) if f.part == "pins"]


def test_verify_finds_a_pinned_checkpoint_that_is_gone(run: RunDirectory) -> None:
    train_here(run, {6: lambda _: pin(run, 6, ""), 8: ask_stop})
    (run.path / "step_000006.bin").unlink()
    assert [f.what for f in verify(run) if f.part == "pins"] == [
        "step_000006.bin: pinned, and not there"
    ]
