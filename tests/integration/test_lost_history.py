"""A history that is wholly lost costs itself, not the weights: the refusal says the way on."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli import main
from tests.tiny import make_tiny_run, strict_json, train_here
from trainer.cli import main as train
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.start_checks import look_ahead


def lose(history: Path) -> None:
    history.unlink()


def empty(history: Path) -> None:
    history.write_bytes(b"")


def replace_by_an_object(history: Path) -> None:
    history.write_bytes(b"{}")


def lose_a_step(history: Path) -> None:
    lines = history.read_bytes().split(b"\n")
    history.write_bytes(b"\n".join(lines[:3] + lines[4:]))


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = make_tiny_run(tmp_path / "a run", total_steps=24)
    train_here(run, until=16)
    return run


@pytest.mark.parametrize("damage", [lose, empty, replace_by_an_object, lose_a_step])
def test_what_the_refusal_says_goes_on_from_the_newest_weights(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    weights = (run.path / "step_000016.bin").read_bytes()
    damage(run.loss)
    assert train([str(run.path)]) == Exit.USAGE
    refusal = capsys.readouterr().err
    if damage is replace_by_an_object:  # it may be another layout of the records: that comes first
        assert main(["verify", str(run.path), "--mend"]) == Exit.USAGE
        refusal = capsys.readouterr().err
    command = re.search(r"`(andrea-console verify [^`]*--give-up-history)`", refusal)
    assert command is not None, refusal
    main(shlex.split(command[1])[1:])
    told = capsys.readouterr()
    n_lost = 1 if damage is lose_a_step else 16
    assert f"{n_lost} record" in told.err
    assert "given up; the next start goes on from step_000016.bin" in told.err
    assert look_ahead(run).refusals == ()
    assert train([str(run.path)]) == Exit.FINISHED
    assert "resuming from step_000016.bin" in capsys.readouterr().out
    assert (run.path / "step_000016.bin").read_bytes() == weights
    records = strict_json(run.loss)
    assert [record["step"] for record in records] == list(range(1, 25))
    assert sum(record.get("lost", False) for record in records[:16]) == n_lost
    assert all("lost" not in record and record["loss"] < 6 for record in records[16:])
    assert main(["verify", str(run.path)]) == 0
    assert f"({n_lost} of them only say that" in capsys.readouterr().out
    assert '"give up history"' in run.actions.read_text()


def test_what_was_in_its_place_is_kept(run: RunDirectory) -> None:
    lose_a_step(run.loss)
    before = run.loss.read_bytes()
    main(["verify", str(run.path), "--give-up-history"])
    assert run.loss.with_name(".loss.json.lost-1").read_bytes() == before


def test_a_history_that_covers_a_checkpoint_is_not_given_up(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run.loss.read_bytes()
    assert main(["verify", str(run.path), "--give-up-history"]) == Exit.USAGE
    assert "is not lost: it covers step_000016.bin" in capsys.readouterr().err
    assert run.loss.read_bytes() == before


def test_a_checkpoint_that_is_not_as_audited_is_nothing_to_go_on_from(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.path / "step_000016.bin"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    run.loss.unlink()
    main(["verify", str(run.path), "--give-up-history"])
    assert "goes on from step_000008.bin" in capsys.readouterr().err
