"""`andrea-console seen`: when a document was given is found from its words or its file."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import pytest

from console.cli import main as console_main
from tests.integration.test_pivot import ask_pivot, move_files
from tests.tiny import ask_stop, make_tiny_run, train_here
from trainer.proxy import seen as seen_module
from trainer.proxy.batches import next_rows, places_of
from trainer.proxy.past_batches import PastBatches
from trainer.proxy.seen import Seen
from trainer.proxy.tokenizer import TextTokenizer, load_tokenizer
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.seen import SeenDocument, document_of
from trainer.seen_text import find


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Small sources given several times over, a pivot at step 16 that takes one away."""
    run = make_tiny_run(
        tmp_path_factory.mktemp("seen") / "run",
        total_steps=48,
        every=8,
        rules=4,
        sources={"large": 40, "small": 12},
    )
    train_here(run, {12: ask_pivot()})
    move_files(run)
    train_here(run, {40: ask_stop})
    return run


@pytest.fixture(scope="module")
def tokenizer(run: RunDirectory) -> TextTokenizer:
    settings = load_settings(run.settings)
    return load_tokenizer(
        run.tokenizer, vocab_size=settings.model.vocab_size, settings=settings.tokenizer
    )


def told(source: str, done: int, total: int) -> None:
    """Nobody waits."""


def batches_with(run: RunDirectory, tokenizer: TextTokenizer, file: str, row: int) -> set[int]:
    """The steps of all batches that say that they have text of it."""
    past = PastBatches(run)
    return {
        step
        for step in past.steps
        for each in past.draw(step).batch(tokenizer).rows
        for document in each.documents
        if document.file.endswith(file) and document.row == row
    }


def all_of(run: RunDirectory, tokenizer: TextTokenizer) -> Iterator[SeenDocument]:
    yield from Seen(run, tokenizer).of_file("run-small.jsonl", None)
    yield from Seen(run, tokenizer).of_file("run-large.jsonl", None)


def test_the_steps_of_each_document_are_those_whose_batches_have_text_of_it(
    run: RunDirectory, tokenizer: TextTokenizer
) -> None:
    documents = list(all_of(run, tokenizer))
    assert len(documents) == 52
    for document in documents:
        # a row's last target is the next one's first input: a step that had it as that alone counts
        steps = {each.step for each in document.sightings}
        assert steps == batches_with(run, tokenizer, Path(document.file).name, document.row)
    assert {each.phase for d in documents for each in d.sightings} == {1, 2}


def test_a_document_comes_next_where_the_run_gives_it_next(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=32, rules=4, sources={"only": 40})
    train_here(run, {9: ask_stop})
    settings = load_settings(run.settings)
    tokenizer = load_tokenizer(
        run.tokenizer, vocab_size=settings.model.vocab_size, settings=settings.tokenizer
    )
    expected = {
        document.row: document.next_in_steps
        for document in Seen(run, tokenizer).of_file("run-only.jsonl", None)
        if document.n_rows
    }
    train_here(run)
    for row, in_steps in expected.items():
        coming = {s for s in batches_with(run, tokenizer, "run-only.jsonl", row) if s > 9}
        assert in_steps is not None
        assert min(coming) == 10 + int(in_steps)


def test_a_source_that_a_pivot_took_away_comes_no_more(
    run: RunDirectory, tokenizer: TextTokenizer
) -> None:
    gone = list(Seen(run, tokenizer).of_file("run-small.jsonl", None))
    assert gone
    assert {document.next_in_rows for document in gone} == {None}


@pytest.mark.parametrize("chunk_tokens", [1, 64, 1 << 16])
def test_words_are_found_wherever_a_chunk_ends(
    run: RunDirectory,
    tokenizer: TextTokenizer,
    monkeypatch: pytest.MonkeyPatch,
    chunk_tokens: int,
) -> None:
    monkeypatch.setattr(seen_module, "_CHUNK_TOKENS", chunk_tokens)
    found = [d for d in Seen(run, tokenizer).of_words(" 7.", told) if d.source == "large"]
    texts = [orjson.loads(line)["text"] for line in _lines(run, "large")]
    rows = [row for row, text in enumerate(texts, 1) if " 7." in text]
    by_file = {d.row: d for d in all_of(run, tokenizer) if d.source == "large" and d.n_rows}
    assert [document.row for document in found] == [row for row in rows if row in by_file]
    assert all(d.sightings == by_file[d.row].sightings for d in found)


def _lines(run: RunDirectory, source: str) -> list[bytes]:
    return (run.path.parent / f"{run.path.name}-{source}.jsonl").read_bytes().splitlines()


def test_so_many_are_told_at_most(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    find(Namespace(run=run.path, words="", file="run-large.jsonl", row=None, most=3))
    lines = capsys.readouterr().out.splitlines()
    assert [document_of(orjson.loads(line)["document"]).row for line in lines] == [1, 2, 3]


def test_the_verb_finds_a_row_of_a_file_and_says_when_there_is_none(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert console_main(["seen", str(run.path), "--file", "run-large.jsonl:7", "--json"]) == 0
    (document,) = orjson.loads(capsys.readouterr().out)["documents"]
    assert (document["source"], document["row"]) == ("large", 7)
    assert console_main(["seen", str(run.path), "these words are in no text"]) == 1
    assert "no text that is trained on has that" in capsys.readouterr().err


@pytest.mark.parametrize("n_rows", [1, 2, 37, 1 << 20, (1 << 20) + 7])
def test_places_are_where_the_rows_of_a_pass_are_given(n_rows: int) -> None:
    rows = np.unique(np.random.RandomState(0).randint(0, n_rows, 50))
    places = places_of(rows, n_rows, seed=3, arm="a", pass_number=5, by_number=True)
    for row, place in zip(rows, places, strict=True):
        given = next_rows(
            n_rows,
            seed=3,
            arm="a",
            rows_given=5 * n_rows + int(place),
            rows=1,
            by_number=True,
        )
        assert given[0] == row
