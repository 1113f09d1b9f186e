"""What the console says thinning would do is what thinning does."""

from pathlib import Path

import pytest

from console.operations.operations import Operations
from console.view import thinning_book
from console.view.run_view import Audit
from console.view.thinning_book import ThinningBook
from trainer.rundir.checkpoints.checkpoint import Inventory, list_checkpoints, write_checkpoint
from trainer.rundir.checkpoints.pins import pin
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.checkpoints.thinning import nonfinite_steps_of, plan_of
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray

AUDITED = {step: step % 700 / 100 for step in range(100, 1_100, 100)}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Ten checkpoints, of which the last two and the multiples of 500 stay."""
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    run.settings.write_text(
        "[model]\nvocab_size = 300\ncontext = 4\nlayers = 1\nheads = 1\nwidth = 4\n"
        "[train]\nbatch_tokens = 32\n[checkpoint]\nkeep_last = 2\nkeep_every = 500\n"
        '[trainer]\ncommand = ["other"]\n'
    )
    run.loss.write_text(
        '[\n{"step": 1},\n{"step": 350, "loss": null, "nonfinite": {"loss": "NaN"}},\n'
        '{"step": 1000}\n]\n'
    )
    samples = RecordArray(run.samples)
    for step, loss in AUDITED.items():
        write_checkpoint(run.path, step, [memoryview(bytearray(4))] * 3)
        samples.append({"step": step, "val_loss": loss, "score": 50.0})
    samples.close()
    return run


AUDITS = tuple(
    Audit(step=step, checkpoint="", val_loss=loss, score=50.0) for step, loss in AUDITED.items()
)


def looked(book: ThinningBook, run: RunDirectory, now: float = 0.0) -> bool:
    return book.look(
        now,
        inventory=list_checkpoints(run.path, None),
        audits=AUDITS,
        nonfinite_steps=(350,),
        settings=load_settings(run.settings),
    )


def test_the_plan_is_that_of_the_trainer_and_of_the_dialog(run: RunDirectory) -> None:
    pin(run, 200, "a note")
    book = ThinningBook(run)
    assert looked(book, run)
    assert book.plan == plan_of(run, load_settings(run.settings), nonfinite_steps_of(run.loss))
    assert book.plan == Operations(run).preview_thinning()
    assert book.pins == {200: "a note"}
    assert {200, 300, 500, 700, 900, 1_000} == book.plan.kept.keys()
    assert book.going == {100, 400, 600, 800}


def test_it_is_made_anew_when_a_pin_comes_or_some_time_has_passed_and_not_else(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def recorded(*args: object) -> Plan:
        made.append(1)
        return Plan(kept={}, going=())

    monkeypatch.setattr(thinning_book, "plan_from", recorded)
    book = ThinningBook(run)
    looked(book, run)
    assert not looked(book, run, 1.0)
    assert len(made) == 1
    pin(run, 200, "")
    assert looked(book, run, 2.0)
    looked(book, run, 40.0)
    assert len(made) == 3


def test_pins_that_can_not_be_read_are_told_and_nothing_goes(run: RunDirectory) -> None:
    run.pins.write_text("")
    book = ThinningBook(run)
    looked(book, run)
    assert "until then all stay" in book.problem
    assert (book.plan.kept, book.going) == ({}, frozenset())
    run.pins.unlink()
    assert looked(book, run)
    assert book.problem == ""
    assert book.going


def test_without_settings_nothing_is_said(run: RunDirectory) -> None:
    book = ThinningBook(run)
    nothing: Settings | None = None
    book.look(
        0.0,
        inventory=Inventory(checkpoints=(), skipped=()),
        audits=(),
        nonfinite_steps=(),
        settings=nothing,
    )
    assert book.plan.kept == {}
