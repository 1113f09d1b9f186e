"""Token caches: right, kept, and never taken for good when they aren't."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.proxy.conftest import small_documents
from trainer.proxy import tokens as tokens_module
from trainer.proxy.held_out import digest_of, survey
from trainer.proxy.progress import Progress, ignore
from trainer.proxy.tokenizer import SEPARATOR_ID, TextTokenizer, make_tokenizer
from trainer.proxy.tokens import TokenizedSource, tokenize_source
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SourceError

DOCUMENTS = small_documents(40)
Load = Callable[..., TokenizedSource]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Forty documents in one JSON lines file."""
    path = tmp_path / "text.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps({"text": text}) for text in DOCUMENTS))
    return path


@pytest.fixture
def load(tmp_path: Path, text: Path, tokenizer: TextTokenizer) -> Load:
    """Tokenize them."""

    def call(
        tokenizer: TextTokenizer = tokenizer,
        vocab_size: int = 300,
        progress: Progress = ignore,
        name: str = "small",
        frozen: str | None = None,
    ) -> TokenizedSource:
        return tokenize_source(
            name,
            SourceSettings(path="text.jsonl"),
            run=RunDirectory(tmp_path),
            tokenizer=tokenizer,
            vocab_size=vocab_size,
            progress=progress,
            frozen=frozen,
        )

    return call


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each call to the tokenizer encoded."""
    calls: list[int] = []
    encode = TextTokenizer.encode

    def counted(self: TextTokenizer, documents: list[str]) -> list[list[int]]:
        calls.append(len(documents))
        return encode(self, documents)

    monkeypatch.setattr(TextTokenizer, "encode", counted)
    return calls


def _documents(tokenizer: TextTokenizer, tokens: np.ndarray) -> list[str]:
    ends = np.flatnonzero(tokens == SEPARATOR_ID) + 1
    assert ends[-1] == len(tokens)
    return [tokenizer.decode(part.tolist()) for part in np.split(tokens, ends)[:-1]]


def test_tokens_are_the_documents_each_ended_by_a_separator(
    load: Load, tokenizer: TextTokenizer
) -> None:
    source = load()
    found = survey(DOCUMENTS)
    held_out = [text for text in DOCUMENTS if found.is_held_out(digest_of(text))]
    assert _documents(tokenizer, source.held_out) == held_out
    assert _documents(tokenizer, source.train) == [d for d in DOCUMENTS if d not in held_out]
    assert (source.documents, source.held_out_documents) == (40, len(held_out))
    assert source.fingerprint == found.fingerprint


@pytest.mark.parametrize(("vocab_size", "dtype"), [(65_536, "<u2"), (65_537, "<u4")])
def test_width_of_a_token_follows_the_vocabulary(load: Load, vocab_size: int, dtype: str) -> None:
    assert load(vocab_size=vocab_size).train.dtype == np.dtype(dtype)


def test_second_start_reads_no_text(
    load: Load, monkeypatch: pytest.MonkeyPatch, encodings: list[int]
) -> None:
    first = load()
    monkeypatch.setattr(tokens_module, "read_documents", lambda *_: pytest.fail("text was read"))
    second = load()
    assert np.array_equal(first.train, second.train)
    assert np.array_equal(first.held_out, second.held_out)
    assert encodings == [40]


def test_touched_file_with_the_same_text_is_read_but_not_encoded_again(
    load: Load, text: Path, encodings: list[int]
) -> None:
    load()
    os.utime(text, ns=(1, 1))
    load()
    assert encodings == [40]


def test_changed_text_is_encoded_again_and_tells_by_its_fingerprint(
    load: Load, text: Path, tmp_path: Path
) -> None:
    first = load()
    text.write_bytes(text.read_bytes() + b'\n{"text": "one more"}')
    second = load()
    assert second.fingerprint != first.fingerprint
    assert second.documents == 41
    assert len(list((tmp_path / "tokens" / "small").iterdir())) == 3


def test_tokens_in_use_outlive_their_files(load: Load, text: Path) -> None:
    first = load()
    before = first.train.tolist()
    text.write_bytes(text.read_bytes() + b'\n{"text": "one more"}')
    load()
    assert first.train.tolist() == before


@pytest.mark.parametrize("damage", ["cut", "grown", "gone", "index torn", "index other"])
def test_damaged_cache_is_made_again(
    load: Load, tmp_path: Path, encodings: list[int], damage: str
) -> None:
    good = load().train.tolist()
    folder = tmp_path / "tokens" / "small"
    (train,) = folder.glob("*.train.bin")
    index = folder / "index.json"
    match damage:
        case "cut":
            os.truncate(train, train.stat().st_size - 1)
        case "grown":
            os.truncate(train, train.stat().st_size + 2)
        case "gone":
            train.unlink()
        case "index torn":
            os.truncate(index, 20)
        case "index other":
            index.write_bytes(b'{"version": 2}')
    assert load().train.tolist() == good
    assert encodings == [40, 40]


def test_another_tokenizer_makes_other_tokens(
    load: Load, tmp_path: Path, text_sources: dict[str, SourceSettings], encodings: list[int]
) -> None:
    load()
    path = tmp_path / "other.json"
    other = make_tokenizer(path, text_sources, base=tmp_path, vocab_size=280, progress=ignore)
    load(tokenizer=other)
    assert encodings == [40, 40]


def test_giving_up_half_way_leaves_nothing_that_is_taken_for_good(
    load: Load, encodings: list[int]
) -> None:
    def give_up(_: float, what: str) -> None:
        if what.startswith("encoding"):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        load(progress=give_up)
    assert len(load().train) > 0
    assert encodings == [40, 40]


def test_progress_names_the_source_and_ends_at_1(load: Load) -> None:
    calls: list[tuple[float, str]] = []
    load(progress=lambda fraction, what: calls.append((fraction, what)))
    assert calls == [(0.0, "reading small"), (1.0, "encoding small")]


def test_source_that_vanished_is_an_error_even_with_its_cache_there(load: Load, text: Path) -> None:
    load()
    text.unlink()
    with pytest.raises(SourceError, match=r"^sources\.small: .*no such file"):
        load()


def test_source_names_never_leave_the_folder_and_never_share_one(
    load: Load, tmp_path: Path
) -> None:
    names = ["..", "a/b", "a.b", "a%2Fb", "ä ö"]
    for name in names:
        load(name=name)
    folders = [path for path in (tmp_path / "tokens").iterdir() if path.is_dir()]
    assert len(folders) == len(names)
    assert {path.name for path in tmp_path.iterdir()} == {"text.jsonl", "tokens"}
