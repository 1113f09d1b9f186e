"""Checkpoints on disk as rows."""

import os
import struct
from pathlib import Path

import pytest

from console.view.checkpoint_rows import CheckpointBook
from console.view.run_view import Audit
from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes, checkpoint_name
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import Save

N_PARAMS = 5


@pytest.fixture
def bare(tmp_path: Path) -> RunDirectory:
    """No file but a history of a million steps."""
    run = RunDirectory(tmp_path)
    write_history(run, 1_000_000)
    return run


def write_history(run: RunDirectory, last_step: int) -> None:
    """Of which only the two ends are read."""
    run.loss.write_text(f'[\n{{"step": 1}},\n{{"step": {last_step}}}\n]\n')


def put(run: RunDirectory, step: int, *, n_params: int = N_PARAMS, cut: int = 0) -> Path:
    path = run.path / checkpoint_name(step)
    path.write_bytes(struct.pack("<ii", step, n_params))
    os.truncate(path, checkpoint_bytes(n_params) - cut)
    return path


def steps(book: CheckpointBook) -> list[int]:
    book.join({}, None)
    return [row.step for row in book.rows]


def test_rows_are_by_number_and_joined_with_their_audit(bare: RunDirectory) -> None:
    for step in (1_000_000, 900, 999_900):
        put(bare, step)
    book = CheckpointBook(bare)
    assert book.look(N_PARAMS)
    audit = Audit(step=900, checkpoint="step_000900.bin", cause="signal")
    book.join({audit.checkpoint: audit}, Save(step=999_900, cause="stop", ok=True))
    assert [(row.step, row.cause) for row in book.rows] == [
        (900, "signal"),
        (999_900, "stop"),
        (1_000_000, ""),
    ]
    assert book.rows[0].audit is audit
    assert book.total_bytes == 3 * checkpoint_bytes(N_PARAMS)


def test_an_unchanged_directory_is_not_read_again(
    bare: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bare, 100)
    book = CheckpointBook(bare)
    book.look(N_PARAMS)
    monkeypatch.setattr("console.view.checkpoint_rows.inspect_checkpoint", None)
    assert not book.look(N_PARAMS)


def test_only_the_newest_and_the_new_are_opened(
    bare: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(100, 2100, 100):
        put(bare, step)
    book = CheckpointBook(bare)
    book.look(N_PARAMS)
    opened = []

    def note(path: Path, step: int, n_params: int | None) -> None:
        opened.append(step)

    monkeypatch.setattr("console.view.checkpoint_rows.inspect_checkpoint", note)
    put(bare, 2100)
    book.look(N_PARAMS)
    assert opened == [2100]


def test_a_bad_file_is_skipped_until_a_good_one_takes_its_name(bare: RunDirectory) -> None:
    put(bare, 100)
    bad = put(bare, 200, cut=1)
    book = CheckpointBook(bare)
    book.look(N_PARAMS)
    assert steps(book) == [100]
    assert [skipped.path.name for skipped in book.skipped] == ["step_000200.bin"]
    bad.rename(bad.with_suffix(".rejected"))
    put(bare, 200)
    assert book.look(N_PARAMS)
    assert steps(book) == [100, 200]
    assert not book.skipped


def test_thinned_files_go_and_a_missing_run_has_none(bare: RunDirectory) -> None:
    put(bare, 100).touch()
    put(bare, 200)
    book = CheckpointBook(bare)
    book.look(N_PARAMS)
    (bare.path / "step_000100.bin").unlink()
    assert book.look(N_PARAMS)
    assert steps(book) == [200]
    (bare.path / "step_000200.bin").unlink()
    bare.loss.unlink()
    bare.path.rmdir()
    assert book.look(N_PARAMS)
    assert steps(book) == []


def test_another_model_judges_all_files_anew(bare: RunDirectory) -> None:
    put(bare, 100)
    book = CheckpointBook(bare)
    book.look(None)
    assert steps(book) == [100]
    assert book.look(N_PARAMS + 1)
    assert steps(book) == []
