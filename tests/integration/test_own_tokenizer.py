"""A run with a tokenizer of its own: from run.toml to trained steps, a fork, a pivot."""

import random
from pathlib import Path

import numpy as np
import pytest

from tests.own_tokenizer import ENTRIES, SEPARATOR_NUMBER, write_own_tokenizer
from tests.tiny import make_tiny_run, strict_json, train_here
from tests.token_files import write_nanogpt
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer, load_tokenizer, make_tokenizer
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.policy_change import apply_change, check_sources, load_policy_file
from trainer.rundir.config.run_toml import load_settings, parse_settings
from trainer.rundir.config.settings import TokenizerSettings
from trainer.rundir.fork import anchor_sources, make_fork, set_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError, TokenizerError
from trainer.rundir.sources.prepared import read_index, token_folder
from trainer.rundir.sources.source_size import measure_source


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_own_tokenizer(tmp_path / "own.json")


@pytest.fixture
def run(tmp_path: Path, own: Path) -> RunDirectory:
    """A tiny run whose path to the tokenizer is relative to it."""
    made = make_tiny_run(tmp_path / "run", total_steps=6, every=3, rules=3)
    _append(made, '[tokenizer]\npath = "../own.json"\n')
    return made


def _append(run: RunDirectory, text: str) -> None:
    run.settings.write_text(run.settings.read_text() + text)


def _tokenizer(own: Path) -> TextTokenizer:
    return load_tokenizer(own, vocab_size=300, settings=TokenizerSettings(path=str(own)))


def test_it_is_frozen_as_it_is_and_its_separator_ends_each_document(
    run: RunDirectory, own: Path
) -> None:
    assert train_here(run) is Exit.FINISHED
    assert run.tokenizer.read_bytes() == own.read_bytes()
    folder = token_folder(run.tokens, "large")
    index = read_index(folder)
    assert index is not None
    tokens = np.fromfile(folder / index.file_names[0], "<u2")
    held_out = np.fromfile(folder / index.file_names[1], "<u2")
    assert tokens[-1] == held_out[-1] == SEPARATOR_NUMBER
    assert (tokens == SEPARATOR_NUMBER).sum() + (held_out == SEPARATOR_NUMBER).sum() >= 300
    text = _tokenizer(own).decode(tokens.tolist())
    assert " 299." in text


def test_a_run_outlives_the_file(run: RunDirectory, own: Path) -> None:
    train_here(run, until=3)
    own.unlink()
    assert train_here(run) is Exit.FINISHED


def test_no_other_setting_is_taken_by_a_run_that_exists(run: RunDirectory, own: Path) -> None:
    train_here(run, until=3)
    write_own_tokenizer(own.with_name("other.json"))
    run.settings.write_text(run.settings.read_text().replace("own.json", "other.json"))
    with pytest.raises(SettingsError, match=r"tokenizer\.path: .*make a new run"):
        train_here(run)


def test_a_fork_goes_on_with_it(run: RunDirectory, own: Path) -> None:
    train_here(run)
    fork = make_fork(run, 3, "fork", settings={}, change=None, t=0.0)
    assert load_settings(fork.settings).tokenizer.path == str(run.path / "../own.json")
    own.unlink()
    assert train_here(fork) is Exit.FINISHED
    assert strict_json(fork.loss)[-1]["loss"] == strict_json(run.loss)[-1]["loss"]


def test_a_fork_takes_no_other(run: RunDirectory) -> None:
    with pytest.raises(SettingsError, match=r"tokenizer\.path: .*a fork keeps its parent's"):
        set_settings(run.settings.read_text(), {"tokenizer.path": "other.json"})


def test_a_model_with_too_few_rows_is_told_the_number(run: RunDirectory) -> None:
    text = run.settings.read_text().replace("vocab_size = 300", "vocab_size = 280")
    run.settings.write_text(text)
    with pytest.raises(
        TokenizerError,
        match=r"tokenizer\.path: .*own\.json: has 290 entries, .*write model\.vocab_size = 290",
    ):
        train_here(run)
    assert not run.tokenizer.exists()


def test_text_is_neither_cut_off_nor_filled_up(own: Path) -> None:
    tokenizer = _tokenizer(own)
    texts = ["a", "<|endoftext|> is " * 20, "\0 and 語"]
    made = tokenizer.encode(texts)
    assert [tokenizer.decode(ids) for ids in made] == texts
    assert not any(tokenizer.separator in ids for ids in made)


def test_no_file_is_left_of_one_that_the_library_does_not_take(tmp_path: Path, own: Path) -> None:
    own.write_bytes(own.read_bytes().replace(b'"type":"BPE"', b'"type":"none"'))
    with pytest.raises(TokenizerError, match=r"tokenizer\.path: .*own\.json: is no tokenizer"):
        make_tokenizer(
            tmp_path / "tokenizer.json",
            {},
            base=tmp_path,
            vocab_size=300,
            progress=ignore,
            settings=TokenizerSettings(path="own.json"),
        )
    assert not (tmp_path / "tokenizer.json").exists()


def test_a_new_run_has_a_row_for_each_entry_and_an_absolute_path(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = TokenizerSettings(path=own.name)
    run, is_new = ensure_run(tmp_path / "new", tokenizer=settings)
    made = load_settings(run.settings)
    assert is_new
    assert (made.model.vocab_size, made.tokenizer.path) == (ENTRIES, str(own))
    assert ensure_run(tmp_path / "new", tokenizer=settings) == (run, False)
    with pytest.raises(SettingsError, match="a run keeps its tokenizer"):
        ensure_run(tmp_path / "new", tokenizer=TokenizerSettings(path="another.json"))


def test_no_run_is_made_with_a_tokenizer_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_bytes(b"{}")
    with pytest.raises(SettingsError, match=r"tokenizer\.path: .*own\.json: is no tokenizer"):
        ensure_run(tmp_path / "new", tokenizer=TokenizerSettings(path=str(tmp_path / "own.json")))
    assert not (tmp_path / "new").exists()


def test_a_separator_without_a_tokenizer_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"tokenizer\.separator: is <\|endoftext\|> where"):
        TokenizerSettings(separator="</s>")


@pytest.fixture
def made(tmp_path: Path, own: Path) -> RunDirectory:
    """A run with a source of tokens that nanoGPT has made beside it."""
    chance = random.Random(5)
    write_nanogpt(tmp_path / "train.bin", [chance.randrange(ENTRIES) for _ in range(4000)])
    made = make_tiny_run(tmp_path / "run", total_steps=6, every=3, rules=3)
    _append(
        made, '[tokenizer]\npath = "../own.json"\n[sources.made]\npath = "tokens:../train.bin"\n'
    )
    return made


def test_made_tokens_are_trained_on_and_outlive_their_file(
    made: RunDirectory, tmp_path: Path
) -> None:
    train_here(made, until=3)
    (tmp_path / "train.bin").unlink()
    assert train_here(made) is Exit.FINISHED
    assert {"large", "made"} <= {record["arm"] for record in strict_json(made.loss)}


def test_a_fork_has_a_path_to_made_tokens_that_means_the_same(made: RunDirectory) -> None:
    text = anchor_sources(made.settings.read_text(), made.path)
    assert f'path = "tokens:{made.path}/../train.bin"' in text


def test_made_tokens_without_their_tokenizer_are_refused(made: RunDirectory) -> None:
    text = made.settings.read_text().replace('[tokenizer]\npath = "../own.json"\n', "")
    made.settings.write_text(text)
    with pytest.raises(SettingsError, match=r"sources\.made\.path: .*tokenizer\.path"):
        train_here(made)


def test_a_new_run_with_made_tokens_looks_at_them_first(tmp_path: Path, own: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"123")
    with pytest.raises(SettingsError, match=r"--source a=tokens:.*odd\.bin: has 3 bytes"):
        ensure_run(
            tmp_path / "new",
            sources={"a": f"tokens:{tmp_path}/odd.bin"},
            tokenizer=TokenizerSettings(path=str(own)),
        )


def test_a_pivot_brings_made_tokens_in(run: RunDirectory, tmp_path: Path) -> None:
    train_here(run, until=3)
    write_nanogpt(tmp_path / "more.bin", [7, 8, 9] * 100)
    policy = tmp_path / "policy.toml"
    policy.write_text('[sources.more]\npath = "tokens:more.bin"\n')
    change = load_policy_file(policy)
    assert change.added["more"].path == f"tokens:{tmp_path}/more.bin"
    after = apply_change(run.settings.read_text(), change)
    check_sources(run, load_settings(run.settings), parse_settings(after))
    size = measure_source(run, change.added["more"])
    assert (size.tokens, size.documents, size.is_exact) == (300, 1, True)
