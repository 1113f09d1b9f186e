"""Exact duplicates: counted always, dropped where it is asked for, by any number of processes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.proxy.preparation.test_prepare import bytes_of
from tests.rundir.sources.test_pieces import prose
from trainer.proxy.held_out import digest_of
from trainer.proxy.preparation import duplicates, units
from trainer.proxy.preparation.documents import RECORD, records_of
from trainer.proxy.preparation.duplicates import mark_duplicates
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import Progress, ignore
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.sources.documents import fingerprint_of
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.origins import origin_of
from trainer.rundir.sources.prepared import TokenIndex, write_index
from trainer.rundir.sources.text_rules import TextRules

ONCE = [prose(seed, 60) for seed in range(80)]
TWICE = [*ONCE[:30], ONCE[3], *ONCE[30:], ONCE[79], ONCE[0], ONCE[3]]
Prepare = Callable[..., TokenIndex]


@pytest.fixture
def prepared(tmp_path: Path, tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    monkeypatch.setattr(units, "UNIT_BYTES", 2_000)
    monkeypatch.setattr(units, "_SMALL_FILE_BYTES", 500)

    def call(
        to: str, texts: list[str], *, drops: bool, n_workers: int = 1, progress: Progress = ignore
    ) -> TokenIndex:
        path = tmp_path / "text.jsonl"
        data = b"\n".join(orjson.dumps({"text": text}) for text in texts)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
        index, files = Preparation(
            name="web",
            source=SourceSettings(path="text.jsonl"),
            base=tmp_path,
            folder=tmp_path / to,
            rules=TextRules(piece_characters=64, drops_duplicates=drops),
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=progress,
            n_workers=n_workers,
        ).run()
        write_index(tmp_path / to, index, files)
        return index

    return call


def test_copies_are_counted_and_trained_on(prepared: Prepare) -> None:
    index = prepared("to", TWICE, drops=False)
    assert (index.documents, index.duplicates) == (84, 4)
    assert index.duplicate_words == (
        "4 of 84 documents are copies of earlier ones, trained on all the same"
    )
    assert prepared("other", ONCE, drops=False).duplicate_words == ""


@pytest.mark.parametrize("n_workers", [1, 2])
def test_dropped_they_leave_the_tokens_of_the_text_without_them(
    prepared: Prepare, tmp_path: Path, n_workers: int
) -> None:
    once, index = (
        prepared("once", ONCE, drops=True),
        prepared("twice", TWICE, drops=True, n_workers=n_workers),
    )
    for ours, theirs in zip(index.file_names, once.file_names, strict=True):
        assert (tmp_path / "twice" / ours).read_bytes() == (tmp_path / "once" / theirs).read_bytes()
    assert index.fingerprint == fingerprint_of(TWICE), "of the files, so that they are known again"
    assert (index.documents, index.duplicates) == (80, 4)
    assert (once.documents, once.duplicates) == (80, 0)
    assert (index.held_out_documents, index.text_bytes) == (
        once.held_out_documents,
        once.text_bytes,
    )
    last = origin_of(tmp_path / "twice", index.train_rows(16) - 1, context=16)[-1]
    assert (last.document, last.row) == (80, 81)
    assert not list((tmp_path / "twice").glob("*.partial"))


def test_a_stop_while_they_are_dropped_ends_in_the_same_bytes(
    prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared("straight", TWICE, drops=True)
    copied: list[int] = []
    copy = duplicates._copy

    def give_up(*arguments: object) -> None:
        copied.append(1)
        if len(copied) == 3:
            raise InterruptedError
        copy(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(duplicates, "_copy", give_up)
    with pytest.raises(InterruptedError):
        prepared("broken", TWICE, drops=True)
    prepared("broken", TWICE, drops=True)
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def test_they_are_found_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over chunks and files of a few hashes, of one text a thousand times."""
    monkeypatch.setattr(duplicates, "_BUCKET_KEYS", 100)
    chance = np.random.default_rng(1)
    numbers = np.concatenate([chance.integers(0, 1_500, 2_000), np.full(1_000, 7)])
    chance.shuffle(numbers)
    digests = [digest_of(str(number)) for number in numbers]
    nothing = [0] * len(digests)
    records = np.frombuffer(records_of(digests, nothing, nothing, nothing, nothing), RECORD)
    largest: list[int] = []
    mark = duplicates._mark

    def noted(keys: np.ndarray, marks: np.ndarray) -> np.ndarray:
        largest.append(len(keys))
        return mark(keys, marks)

    monkeypatch.setattr(duplicates, "_mark", noted)
    chunks = np.split(records, range(64, len(records), 64))
    marks = mark_duplicates(chunks, len(records), tmp_path, never)
    _, first = np.unique(numbers, return_index=True)
    assert np.flatnonzero(~marks).tolist() == sorted(first.tolist())
    assert max(largest) < 250
