"""A run's test sets: never trained on, nor is what shares 13 words with them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import orjson
import pytest

from console.verbs.evaluate import as_lines
from tests.tiny import ask_stop, make_tiny_run, strict_json, train_here
from trainer.evaluating import evaluate
from trainer.proxy import test_sets
from trainer.proxy.feed import open_sources
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer, load_tokenizer
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.run_toml import load_settings, parse_settings
from trainer.rundir.config.settings import TEST, SourceSettings
from trainer.rundir.evaluations import read_evaluation
from trainer.rundir.fork import set_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError, SourceError
from trainer.rundir.sources.prepared import TokenIndex, read_index, token_folder
from trainer.rundir.sources.token_arrays import held_out_tokens, train_tokens
from trainer.rundir.state import read_state

QUESTION = "who of all the kings that ever ruled the northern islands was the first to fall"
OTHER = "a line that stands in no other text and has some words more than thirteen in it, too"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Its source `large` has the question among its paragraphs, once as it is, once disguised."""
    run = make_tiny_run(tmp_path / "run", rules=4, sources={"large": 200})
    file = tmp_path / "run-large.jsonl"
    copies = [f"Known: {QUESTION}?", QUESTION.upper().replace(" ", ",\n")]
    lines = file.read_bytes() + b"".join(orjson.dumps({"text": t}) + b"\n" for t in copies)
    file.write_bytes(lines)
    (tmp_path / "quiz.jsonl").write_bytes(
        b"".join(orjson.dumps({"q": text}) + b"\n" for text in (QUESTION, OTHER, "short"))
    )
    with run.settings.open("a") as settings:
        settings.write(f'[test.quiz]\npath = "{tmp_path}/quiz.jsonl"\nfield = "q"\n')
    return run


def _index(run: RunDirectory, name: str) -> TokenIndex:
    index = read_index(token_folder(run.tokens, name))
    assert index is not None
    return index


def _texts(run: RunDirectory, name: str) -> Mapping[str, str]:
    tokenizer: TextTokenizer = load_tokenizer(run.tokenizer, vocab_size=300)
    folder, index = token_folder(run.tokens, name), _index(run, name)
    sides = {"train": train_tokens(folder, index), "held_out": held_out_tokens(folder, index)}
    return {side: tokenizer.decode(tokens.tolist()) for side, tokens in sides.items()}


def test_what_shares_13_words_with_a_test_set_is_on_neither_side_and_is_counted(
    run: RunDirectory,
) -> None:
    assert train_here(run, {2: ask_stop}) == Exit.TERMINATED
    large = _index(run, "large")
    assert large.apart_pieces >= large.apart_documents == 2
    assert large.apart_bytes >= len(QUESTION)
    assert "kings" not in "".join(_texts(run, "large").values()).lower()
    state = read_state(run.state)
    assert state is not None
    assert f"source large: {large.apart_words}" in state.notes


def test_a_test_set_is_held_out_whole_and_drawn_by_nothing(run: RunDirectory) -> None:
    train_here(run, {2: ask_stop})
    quiz = _index(run, f"{TEST}quiz")
    assert (quiz.documents, quiz.held_out_documents, quiz.train_tokens) == (3, 3, 0)
    assert _texts(run, f"{TEST}quiz")["held_out"] == QUESTION + OTHER + "short"
    assert {record["arm"] for record in strict_json(run.loss)} == {"large"}


def test_a_source_of_tokens_is_told_not_to_be_searched(run: RunDirectory) -> None:
    train_here(run, {2: ask_stop})
    of_tokens = replace(_index(run, "large"), text_bytes=0)
    assert "not searched" in of_tokens.apart_words


def test_an_audit_has_the_loss_of_each_test_set_in_no_mean(run: RunDirectory) -> None:
    train_here(run, {2: ask_stop})
    (audit,) = strict_json(run.samples)
    assert audit["test_losses"].keys() == {"quiz"}
    assert audit["val_losses"].keys() == {"large"}
    assert audit["val_loss"] == audit["val_losses"]["large"]
    assert f"{TEST}quiz" in audit["environment"]["texts"]


def test_evaluate_takes_the_loss_on_the_whole_test_set_apart_from_the_sources(
    run: RunDirectory,
) -> None:
    train_here(run, {2: ask_stop})
    evaluate(run, step=None, names=[], device="cpu")
    made = read_evaluation(run, 2)
    assert made is not None
    assert (set(made.sources), set(made.tests)) == ({"large"}, {"quiz"})
    assert made.tests["quiz"].bytes == len(QUESTION + OTHER + "short") - 1  # the first token
    assert made.whole is not None
    assert made.whole.tokens == made.sources["large"].tokens
    assert "test quiz" in "\n".join(as_lines(made))
    evaluate(run, step=2, names=["quiz"], device="cpu")
    assert read_evaluation(run, 2) == replace(made, t=ANY, tests=ANY)


def test_a_test_set_stays_as_it_was_once_training_has_begun(run: RunDirectory) -> None:
    train_here(run, {2: ask_stop})
    before, key = _index(run, f"{TEST}quiz"), _index(run, "large").file_names
    (run.path.parent / "quiz.jsonl").write_text('{"q": "another"}\n')
    train_here(run, {4: ask_stop})
    assert _index(run, f"{TEST}quiz") == before
    assert _index(run, "large").file_names == key


def test_before_training_another_test_set_has_the_text_prepared_anew(run: RunDirectory) -> None:
    settings = load_settings(run.settings)

    def prepare() -> TokenIndex:
        open_sources(run, settings, phase=1, trained=None, is_new=True, progress=ignore)
        return _index(run, "large")

    first = prepare()
    (run.path.parent / "quiz.jsonl").write_text(f'{{"q": "{OTHER}"}}\n')
    second = prepare()
    assert first.apart != second.apart
    assert (first.apart_documents, second.apart_documents) == (2, 0)
    assert first.fingerprint == second.fingerprint


def test_another_test_set_is_refused_in_a_run_that_has_begun(run: RunDirectory) -> None:
    train_here(run, {2: ask_stop})
    text = run.settings.read_text()
    run.settings.write_text(text.replace("quiz.jsonl", "other.jsonl"))
    with pytest.raises(SettingsError, match=r"test\.quiz\.path: .*a new run"):
        train_here(run, {4: ask_stop})


def test_a_fork_keeps_its_parents_test_sets() -> None:
    with pytest.raises(SettingsError, match="kept apart"):
        set_settings("", {"test.quiz.path": "other"})


def test_a_test_set_that_is_too_large_or_not_there_is_refused_by_name(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(run.settings)
    monkeypatch.setattr(test_sets, "MOST_TEST_BYTES", 100)
    with pytest.raises(SourceError, match=r"test\.quiz: .*at most 100"):
        open_sources(run, settings, phase=1, trained=None, is_new=True, progress=ignore)
    gone = replace(settings, test={"quiz": SourceSettings(path="gone.jsonl")})
    with pytest.raises(SourceError, match=r"test\.quiz: .*gone\.jsonl"):
        open_sources(run, gone, phase=1, trained=None, is_new=True, progress=ignore)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rules = 3\n[test.a]\npath = "a"', "rules 3 was prepared without"),
        ('rules = 4\n[sources.a]\npath = "a"\n[test.a]\npath = "a"', "has this name"),
        ('rules = 4\n[test.a]\npath = "tokens:a.bin"', "a test set is text"),
        ('rules = 4\n[test.a]\nfield = "q"', r"test\.a\.path: is missing"),
        ('rules = 4\n[test.a]\npath = " "', r"test\.a\.path: is empty"),
    ],
)
def test_a_test_set_that_can_not_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_settings(text)


def test_a_new_run_takes_test_sets_and_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "quiz.txt").write_text("who?")
    paths = {"sources": {"a": str(tmp_path / "a.txt")}, "tests": {"q": str(tmp_path / "quiz.txt")}}
    run, _ = ensure_run(tmp_path / "run", **paths)  # type: ignore[arg-type]
    assert load_settings(run.settings).test["q"].path == str(tmp_path / "quiz.txt")
    assert ensure_run(tmp_path / "run", **paths)[1] is False  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="keeps its test sets"):
        ensure_run(tmp_path / "run", tests={"q": str(tmp_path / "a.txt")})
