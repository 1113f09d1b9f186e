"""Audits of all phases, joined."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from console.view.audits import AuditBook, audit_of
from trainer.rundir.checkpoints.checkpoint import checkpoint_name
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


def sample(step: int, **fields: Any) -> dict[str, Any]:
    return {"step": step, "checkpoint": checkpoint_name(step), "phase": 1, "text": "t", **fields}


def write(path: Path, *samples: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    array = RecordArray(path)
    for each in samples:
        array.append(each)
    array.close()


@pytest.fixture
def bare(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def test_archived_audits_are_joined_with_those_of_this_phase(bare: RunDirectory) -> None:
    write(bare.archive / "phase_001" / ".samples.json", sample(100), sample(200))
    write(bare.samples, sample(300, phase=2))
    book = AuditBook(bare)
    assert book.look()
    assert [audit.step for audit in book.all] == [100, 200, 300]
    assert [audit.step for audit in book.current_phase] == [300]
    assert book.by_checkpoint["step_000200.bin"].phase == 1


def test_nothing_new_keeps_the_same_objects(bare: RunDirectory) -> None:
    write(bare.samples, sample(100))
    book = AuditBook(bare)
    book.look()
    before = book.all
    assert not book.look()
    assert book.all is before


def test_a_pivot_moves_audits_into_the_archive_and_none_is_lost(bare: RunDirectory) -> None:
    write(bare.samples, sample(100), sample(200))
    book = AuditBook(bare)
    book.look()
    folder = bare.archive / "phase_001"
    folder.mkdir(parents=True)
    book.look()
    bare.samples.rename(folder / ".samples.json")
    assert book.look()
    assert [audit.step for audit in book.all] == [100, 200]
    assert not book.current_phase
    write(bare.samples, sample(300, phase=2))
    assert book.look()
    assert [audit.step for audit in book.all] == [100, 200, 300]


def test_the_last_audit_of_a_checkpoint_counts(bare: RunDirectory) -> None:
    write(bare.archive / "phase_001" / ".samples.json", sample(100, score=10))
    write(bare.samples, sample(100, score=20), sample(100, score=30, phase=2))
    book = AuditBook(bare)
    book.look()
    assert [audit.score for audit in book.all] == [30]


def test_an_audit_takes_what_fits_and_needs_its_step() -> None:
    audit = audit_of(
        {"step": 100, "score": "good", "english_words": 7, "text": 5, "ms": 1500, "val_loss": 2}
    )
    assert audit is not None
    assert (audit.score, audit.text, audit.seconds, audit.val_loss) == (None, "", 1.5, 2.0)
    assert audit.english_words == 7
    assert audit.checkpoint == "step_000100.bin"
    assert audit_of({"checkpoint": "step_000100.bin"}) is None


def test_a_file_that_holds_no_records_has_no_audits(bare: RunDirectory) -> None:
    bare.samples.write_bytes(orjson.dumps([1, "two", None, [3]]) + b"\n")
    book = AuditBook(bare)
    book.look()
    assert not book.all
    bare.archive.write_bytes(b"a file where the archive should be")
    book.look()
    assert not book.all


def test_a_directory_in_place_of_the_file_has_no_audits(bare: RunDirectory) -> None:
    bare.samples.mkdir()
    book = AuditBook(bare)
    assert not book.look()


def test_samples_behind_further_prompts_are_read_and_the_first_is_the_records_own() -> None:
    written = [
        {"prompt": "", "text": "t", "score": 70.0},
        {"prompt": "def ", "text": "f(x):", "score": 61.5, "bigram_diversity": 30.0},
        {"prompt": "The ", "text": "end", "score": None},
    ]
    audit = audit_of(sample(100, prompt="", score=70.0, samples=written))
    assert audit is not None
    assert [(each.prompt, each.text, each.score) for each in audit.samples] == [
        ("", "t", 70.0),
        ("def ", "f(x):", 61.5),
        ("The ", "end", None),
    ]
    assert audit.more[0].bigram_diversity == 30.0


@pytest.mark.parametrize("told", [None, 7, "x", {}, [], [7, None], [{"prompt": 7}], [[]]])
def test_an_audit_of_one_prompt_or_with_odd_samples_has_its_own_sample(told: object) -> None:
    audit = audit_of(sample(100, samples=told))
    assert audit is not None
    assert audit.samples == (audit,)


def test_a_prompt_that_is_written_twice_counts_once() -> None:
    written = [{"prompt": "a", "text": "one"}, {"prompt": "a", "text": "two"}]
    audit = audit_of(sample(100, samples=written))
    assert audit is not None
    assert [each.text for each in audit.samples] == ["t", "one"]
