"""A tokenizer.json is looked into without the library that made it."""

from pathlib import Path

import orjson
import pytest

from tests.own_tokenizer import ENTRIES, SEPARATOR_NUMBER, write_own_tokenizer
from trainer.rundir.config.settings import TokenizerSettings
from trainer.rundir.outcomes import TokenizerError
from trainer.rundir.vocabulary import read_own_tokenizer, vocabulary_of


def test_separator_is_found_by_name_and_entries_are_one_more_than_the_largest_id(
    tmp_path: Path,
) -> None:
    write_own_tokenizer(tmp_path / "own.json", "<pad>", "</s>")
    settings = TokenizerSettings(path="own.json", separator="</s>")
    data, vocabulary = read_own_tokenizer(settings, tmp_path)
    assert data == (tmp_path / "own.json").read_bytes()
    assert (vocabulary.entries, vocabulary.separator) == (ENTRIES + 1, SEPARATOR_NUMBER + 1)


def test_without_the_separator_its_special_tokens_are_listed(tmp_path: Path) -> None:
    write_own_tokenizer(tmp_path / "own.json", "<pad>", "</s>")
    with pytest.raises(
        TokenizerError,
        match=r"tokenizer\.path: .*own\.json: has no special token '<\|endoftext\|>'.*"
        r"tokenizer\.separator \(it has <pad> \(289\), </s> \(290\)\)",
    ):
        read_own_tokenizer(TokenizerSettings(path="own.json"), tmp_path)


def test_of_many_special_tokens_the_first_ten_are_listed(tmp_path: Path) -> None:
    write_own_tokenizer(tmp_path / "own.json", *(f"<{n}>" for n in range(250)))
    with pytest.raises(TokenizerError, match=r"<9> \(298\) and 240 more\)"):
        read_own_tokenizer(TokenizerSettings(path="own.json"), tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"model": 3}', b"\x80\x03}", b'{"added_tokens": [], "model": {}}']
)
def test_what_is_no_tokenizer_is_told(data: bytes) -> None:
    with pytest.raises(TokenizerError, match=r"is no tokenizer; name a tokenizer\.json"):
        vocabulary_of(data, "<|endoftext|>")


def test_merges_that_are_left_out_by_chance_are_refused(tmp_path: Path) -> None:
    told = orjson.loads(write_own_tokenizer(tmp_path / "own.json").read_bytes())
    told["model"]["dropout"] = 0.1
    with pytest.raises(TokenizerError, match="dropout"):
        vocabulary_of(orjson.dumps(told), "<|endoftext|>")


@pytest.mark.parametrize("path", ["tiktoken:gpt2", "cl100k_base.tiktoken"])
def test_tiktoken_is_refused_with_what_to_do(tmp_path: Path, path: str) -> None:
    with pytest.raises(TokenizerError, match=r"is tiktoken's; name a tokenizer\.json"):
        read_own_tokenizer(TokenizerSettings(path=path), tmp_path)


@pytest.mark.parametrize("path", ["gone.json", ".", "~nobody-of-this-name/own.json"])
def test_what_cannot_be_read_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(TokenizerError, match=r"^tokenizer\.path: .*: cannot be read \("):
        read_own_tokenizer(TokenizerSettings(path=path), tmp_path)
