"""Tokens that are made already are read as they are, document by document."""

import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tests.own_tokenizer import SEPARATOR_NUMBER as END
from tests.own_tokenizer import write_own_tokenizer
from tests.token_files import write_llm_c, write_megatron, write_nanogpt
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources import megatron, token_files
from trainer.rundir.sources.text_rules import TextRules
from trainer.rundir.sources.token_files import read_token_documents, token_ranges

STREAM = [5, 6, END, END, 7, END, 8, 9, 10, END, 11]
DOCUMENTS = [[5, 6, END], [7, END], [8, 9, 10, END], [11]]
RULES = TextRules(vocab_size=300)


@pytest.fixture(autouse=True)
def _tokenizer(tmp_path: Path) -> None:
    write_own_tokenizer(tmp_path / "tokenizer.json")


def _read(base: Path, path: str = "tokens:*.bin") -> list[list[int]]:
    documents = read_token_documents(SourceSettings(path=path), base, RULES)
    return [np.frombuffer(document, "<u4").tolist() for document in documents]


def _without_ends(documents: list[list[int]]) -> list[int]:
    return [token for token in chain(*documents) if token != END]


def _wide(path: Path, tokens: list[int]) -> Path:
    return write_llm_c(path, tokens, is_wide=True)


@pytest.mark.parametrize("write", [write_nanogpt, write_llm_c, _wide])
@pytest.mark.parametrize("range_tokens", [2, 4, 5, 100])
def test_documents_end_with_the_separator_and_one_of_it_alone_is_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path, list[int]], Path],
    range_tokens: int,
) -> None:
    monkeypatch.setattr(token_files, "RANGE_TOKENS", range_tokens)
    monkeypatch.setattr(token_files, "_LOOK_TOKENS", 2)
    write(tmp_path / "a.bin", STREAM)
    read = _read(tmp_path)
    if range_tokens >= 4:  # the longest document
        assert read == DOCUMENTS
    assert _without_ends(read) == [5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("code", [4, 8])
@pytest.mark.parametrize("range_tokens", [3, 4, 100])
@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_megatron_documents_end_where_the_index_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, range_tokens: int, at_once: int
) -> None:
    monkeypatch.setattr(token_files, "RANGE_TOKENS", range_tokens)
    monkeypatch.setattr(megatron, "_AT_ONCE", at_once)
    documents = [[[1, 2], [3]], [[4]], [], [[5, 6], [7, END]], [[8]]]
    write_megatron(tmp_path / "a.bin", documents, code=code)
    read = _read(tmp_path, "tokens:a.*")
    if range_tokens >= 4:
        assert read == [list(chain(*d)) for d in documents if d]
    assert _without_ends(read) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_range_holds_no_more_than_a_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_files, "RANGE_TOKENS", 4)
    write_nanogpt(tmp_path / "a.bin", [1] * 11)
    ranges = list(token_ranges(SourceSettings(path="tokens:a.bin"), tmp_path, RULES))
    assert [(part.begin, part.end) for part in ranges] == [(0, 4), (4, 8), (8, 11)]


def _odd(path: Path) -> None:
    path.write_bytes(b"123")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut_llm_c(path: Path) -> None:
    path.write_bytes(write_llm_c(path, STREAM).read_bytes()[:-2])


def _other_llm_c(path: Path) -> None:
    path.write_bytes(write_llm_c(path, STREAM).read_bytes().replace(b"\1\0\0\0", b"\2\0\0\0", 1))


def _cut_megatron(path: Path) -> None:
    path.write_bytes(write_megatron(path, [[[1, 2]], [[3]]]).read_bytes()[:-2])


def _cut_index(path: Path) -> None:
    index = write_megatron(path, [[[1, 2]], [[3]]]).with_suffix(".idx")
    index.write_bytes(index.read_bytes()[:-1])


def _other_index(path: Path) -> None:
    write_nanogpt(path, STREAM)
    path.with_suffix(".idx").write_bytes(b"an index of another kind, longer than a header")


def _lone_index(path: Path) -> None:
    write_megatron(path, [[[1]]])
    path.unlink()


def _out_of_order(path: Path) -> None:
    index = write_megatron(path, [[[1]], [[2]]]).with_suffix(".idx")
    data = index.read_bytes()
    index.write_bytes(data.replace(b"\2" + bytes(7), b"\4" + bytes(7)))


def _other_ids(path: Path) -> None:
    write_nanogpt(path, [1, 2, 300])


def _text(path: Path) -> None:
    path.with_suffix(".txt").write_text("no")
    write_nanogpt(path, STREAM)


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_odd, r"a\.bin: has 3 bytes; .*cut off, or holds no tokens"),
        (_empty, r"a\.bin: has 0 bytes"),
        (_cut_llm_c, r"a\.bin: holds 10 tokens, and its header tells of 11"),
        (_other_llm_c, r"a\.bin: llm\.c's version 2; 1 is known"),
        (_cut_megatron, r"a\.idx: tells of 6 bytes of tokens, and the \.bin file has 4"),
        (_cut_index, r"a\.idx: is cut off"),
        (_other_index, r"a\.idx: is no index of Megatron's tokens"),
        (_lone_index, r"a\.idx: the \.bin file beside it is missing"),
        (_out_of_order, r"a\.idx: its sequences don't follow each other"),
        (_other_ids, r"a\.bin: token 2 is 300, none of the 300 of model\.vocab_size"),
        (_text, r"a\.txt: tokens are taken from \.bin files"),
        (_folder, r"a\.bin: is a folder; name its files"),
    ],
)
def test_what_is_wrong_is_told_by_file(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    make(tmp_path / "a.bin")
    path = "tokens:a.bin" if make is _folder else "tokens:a.*"
    with pytest.raises(SourceError, match=message):
        _read(tmp_path, path)


def test_without_its_tokenizer_nothing_is_read(tmp_path: Path) -> None:
    write_nanogpt(tmp_path / "a.bin", STREAM)
    shutil.move(tmp_path / "tokenizer.json", tmp_path / "gone.json")
    with pytest.raises(ValueError, match=r"tokenizer\.json: cannot be read"):
        _read(tmp_path)
