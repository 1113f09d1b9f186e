"""The tokenizer: deterministic, frozen, total in both directions."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.proxy import tokenizer as tokenizer_module
from trainer.proxy.fast_encoding import FastEncoder
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import (
    LEARNED_SEPARATOR,
    TextTokenizer,
    load_tokenizer,
    make_tokenizer,
)
from trainer.rundir.config.settings import SEPARATOR, SourceSettings
from trainer.rundir.outcomes import TokenizerError

Sources = Mapping[str, SourceSettings]


def _make(path: Path, sources: Sources, vocab_size: int = 300) -> TextTokenizer:
    return make_tokenizer(path, sources, base=Path(), vocab_size=vocab_size, progress=ignore)


def test_the_same_text_gives_the_same_bytes(tmp_path: Path, text_sources: Sources) -> None:
    made = [_make(tmp_path / name, text_sources) for name in ("a.json", "b.json")]
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert made[0].sha256 == made[1].sha256


def test_separator_is_token_0_and_its_name_in_a_text_is_text(tokenizer: TextTokenizer) -> None:
    assert tokenizer.separator == LEARNED_SEPARATOR == 0
    (ids,) = tokenizer.encode([f"one {SEPARATOR} two"])
    assert LEARNED_SEPARATOR not in ids
    assert tokenizer.decode(ids) == f"one {SEPARATOR} two"


@given(text=st.text())
def test_any_text_comes_back_from_its_tokens(tokenizer: TextTokenizer, text: str) -> None:
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text


@given(ids=st.lists(st.integers(0, 600)))
def test_any_tokens_decode_to_valid_text(tokenizer: TextTokenizer, ids: list[int]) -> None:
    tokenizer.decode(ids).encode()


def test_little_text_yields_fewer_entries_than_the_model_has_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("aaaa")
    (tmp_path / "b.txt").write_text("bbbb")
    sources = {"two": SourceSettings(path=f"{tmp_path}/*.txt")}
    assert 257 <= _make(tmp_path / "tokenizer.json", sources, 5000).entries < 5000


def test_merges_are_learned_from_training_text_only(tmp_path: Path) -> None:
    documents = ["xyzzy" * 500, "plugh" * 500]
    for name, document in zip("ab", documents, strict=True):
        (tmp_path / f"{name}.txt").write_text(document)
    _make(tmp_path / "t.json", {"two": SourceSettings(path=f"{tmp_path}/*.txt")})
    vocab = orjson.loads((tmp_path / "t.json").read_bytes())["model"]["vocab"]
    learned = [word for word in ("plugh", "xyzzy") if any(word in token for token in vocab)]
    assert len(learned) == 1


def test_once_made_it_is_frozen(tmp_path: Path, text_sources: Sources) -> None:
    path = tmp_path / "tokenizer.json"
    first = _make(path, text_sources)
    (tmp_path / "other.txt").write_text("another text " * 100)
    again = _make(path, {"other": SourceSettings(path=f"{tmp_path}/other.txt")})
    assert again.sha256 == first.sha256


def test_progress_rises_to_1_and_what_is_named(tmp_path: Path, text_sources: Sources) -> None:
    calls: list[tuple[float, str]] = []
    make_tokenizer(
        tmp_path / "tokenizer.json",
        text_sources,
        base=Path(),
        vocab_size=300,
        progress=lambda fraction, what: calls.append((fraction, what)),
    )
    assert calls[0] == (0.0, "reading small")
    fractions = [fraction for fraction, what in calls if what == "training the tokenizer"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(fractions) > 10


def test_giving_up_through_progress_leaves_no_file(tmp_path: Path, text_sources: Sources) -> None:
    def give_up(fraction: float, what: str) -> None:
        if fraction > 0.1:
            raise InterruptedError(what)

    with pytest.raises(InterruptedError, match="training the tokenizer"):
        make_tokenizer(
            tmp_path / "tokenizer.json",
            text_sources,
            base=Path(),
            vocab_size=300,
            progress=give_up,
        )
    assert list(tmp_path.iterdir()) == []


def test_more_entries_than_the_model_has_rows_is_an_error(
    tmp_path: Path, text_sources: Sources
) -> None:
    path = tmp_path / "tokenizer.json"
    _make(path, text_sources, 300)
    with pytest.raises(TokenizerError, match=r"has 300 entries, more than model.vocab_size = 280"):
        load_tokenizer(path, vocab_size=280)


def test_file_that_is_no_tokenizer_or_has_no_separator_is_named(
    tmp_path: Path, text_sources: Sources
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b'{"torn": ')
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: is no tokenizer"):
        load_tokenizer(path, vocab_size=300)
    path.unlink()
    _make(path, text_sources)
    path.write_bytes(path.read_bytes().replace(SEPARATOR.encode(), b"<|another|>"))
    with pytest.raises(TokenizerError, match=r"no special token .*it has <\|another\|> \(0\)"):
        load_tokenizer(path, vocab_size=300)


def test_error_of_a_source_names_its_setting(tmp_path: Path) -> None:
    sources = {"web": SourceSettings(path="gone.txt")}
    with pytest.raises(ValueError, match=r"^sources\.web: .*no such file"):
        make_tokenizer(tmp_path / "t.json", sources, base=tmp_path, vocab_size=300, progress=ignore)


def test_few_huge_documents_are_sampled_from_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer_module, "SAMPLE_BYTES", 100_000)
    for name in "ab":
        lines = (orjson.dumps({"text": (name + "xyzzy ") * 200_000}),)
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(lines))
    _make(tmp_path / "t.json", {"two": SourceSettings(path=f"{tmp_path}/*.jsonl")})
    vocab = orjson.loads((tmp_path / "t.json").read_bytes())["model"]["vocab"]
    assert any("xyzzy" in token for token in vocab)


def test_tokenizer_that_was_refuted_encodes_by_the_reference_in_each_process(
    tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tokenizer.encode(["some text"])
    proven, refuted = (pickle.loads(pickle.dumps(tokenizer)) for _ in range(2))
    proven.prove(["some text"])
    monkeypatch.setattr(FastEncoder, "encode", lambda _, documents, n: [[7] for _ in documents])
    refuted.prove(["some text"])
    assert (proven.was_refuted, refuted.was_refuted) == (False, True)
    there = pickle.loads(pickle.dumps(refuted))
    assert there.encode(["some text"]) == refuted.encode(["some text"]) == wanted


def test_endless_white_space_is_encoded(tokenizer: TextTokenizer) -> None:
    text = "a" + " " * 1_200_000 + "b"
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text
