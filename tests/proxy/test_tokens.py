"""Token caches: right, kept, and never taken for good when they aren't."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.proxy.conftest import small_documents
from trainer.proxy import tokens
from trainer.proxy.held_out import digest_of, survey
from trainer.proxy.preparation import units
from trainer.proxy.progress import Progress, ignore
from trainer.proxy.tokenizer import LEARNED_SEPARATOR, TextTokenizer, make_tokenizer
from trainer.proxy.tokens import TokenizedSource, tokenize_source
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources import prepared
from trainer.rundir.sources.prepared import TEXT_DIGITS

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
    ends = np.flatnonzero(tokens == LEARNED_SEPARATOR) + 1
    assert ends[-1] == len(tokens)
    return [tokenizer.decode(part.tolist()) for part in np.split(tokens, ends)[:-1]]


def test_tokens_are_the_documents_each_ended_by_a_separator(
    load: Load, tokenizer: TextTokenizer
) -> None:
    source = load()
    found = survey(DOCUMENTS)
    held_out = [text for text in DOCUMENTS if digest_of(text) <= found.bound]
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
    monkeypatch.setattr(units, "contents_of", lambda *_: pytest.fail("text was read"))
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
    names = {path.suffix for path in (tmp_path / "tokens" / "small").iterdir()}
    assert names == {".bin", ".json"}


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
    load: Load, encodings: list[int], tmp_path: Path
) -> None:
    def give_up(fraction: float, what: str) -> None:
        if what.startswith("encoding") and fraction:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        load(progress=give_up)
    assert not list(tmp_path.glob("tokens/*/index.json"))
    assert len(load().train) > 0
    assert encodings == [40], "what was durable was encoded again"


def test_progress_names_the_source_and_ends_at_1(load: Load) -> None:
    calls: list[tuple[float, str]] = []
    load(progress=lambda fraction, what: calls.append((fraction, what)))
    assert list(dict.fromkeys(what for _, what in calls)) == ["reading small", "encoding small"]
    assert calls[-1] == (1.0, "encoding small")


def test_source_without_text_and_tokens_is_an_error(load: Load, text: Path) -> None:
    text.unlink()
    with pytest.raises(SourceError, match=r"^sources\.small: .*no such file"):
        load()


def _one_more(text: Path) -> None:
    text.write_bytes(text.read_bytes() + b'\n{"text": "one more"}')


def _another(text: Path) -> None:
    """As many bytes, other words."""
    text.write_bytes(text.read_bytes().replace(b"cat", b"dog"))
    os.utime(text, ns=(1, 1))


def _empty(text: Path) -> None:
    text.write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (Path.unlink, "text.jsonl: no such file"),
        (_one_more, "text.jsonl has [0-9,]+ bytes instead of"),
        (_another, "text.jsonl holds another text"),
        (_empty, "text.jsonl has 0 bytes instead of"),
    ],
)
def test_tokens_that_were_trained_on_stay_whatever_becomes_of_the_files(
    load: Load, text: Path, encodings: list[int], change: Callable[[Path], None], told: str
) -> None:
    first = load()
    change(text)
    for _ in range(2):
        again = load(frozen="")
        assert again.train.tolist() == first.train.tolist()
        assert again.fingerprint == first.fingerprint
        assert re.search(told, again.drift.altered)
    assert encodings == [40]


def test_new_phase_takes_a_text_that_changed_and_keeps_the_tokens_of_the_one_before(
    load: Load, text: Path, encodings: list[int]
) -> None:
    first = load()
    before = first.train.tolist()
    _one_more(text)
    second = load()
    assert (second.documents, second.drift.is_same) == (41, True)
    assert "instead of" in second.replaced
    old = load(frozen=first.fingerprint[:TEXT_DIGITS])  # a fork of the phase before
    assert old.train.tolist() == before
    assert encodings == [40, 41]


def test_resume_reads_no_large_text_whose_files_have_another_time_only(
    load: Load, text: Path, encodings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy on another disk: hours of reading, before a step of a run that had its tokens."""
    first = load()
    index = (text.parent / "tokens" / "small" / "index.json").read_bytes()
    os.utime(text, ns=(1, 1))
    monkeypatch.setattr(tokens, "COMPARED_BYTES", 10)
    monkeypatch.setattr(prepared, "fingerprint_of", None)
    again = load(frozen=first.fingerprint[:TEXT_DIGITS])
    assert (again.drift.altered, again.drift.added) == ("", "")
    assert (text.parent / "tokens" / "small" / "index.json").read_bytes() == index
    assert encodings == [40]


@pytest.mark.parametrize("change", [Path.unlink, _one_more, _another])
def test_lost_tokens_are_made_again_of_the_text_that_was_trained_on_only(
    load: Load, text: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    first, data = load(), text.read_bytes()
    shutil.rmtree(tmp_path / "tokens")
    change(text)
    with pytest.raises(SourceError, match=r"^sources\.small: .*(not the text|no such file)"):
        load(frozen=first.fingerprint[:TEXT_DIGITS])
    text.write_bytes(data)
    assert load(frozen=first.fingerprint[:TEXT_DIGITS]).train.tolist() == first.train.tolist()


def test_tokens_of_the_version_before_are_taken_as_they_are(
    load: Load, text: Path, tmp_path: Path, encodings: list[int]
) -> None:
    """It kept no list of files."""
    first = load()
    (files,) = (tmp_path / "tokens" / "small").glob("files-*.json")
    files.unlink()
    os.utime(text, ns=(1, 1))
    assert load(frozen="").drift.is_same
    assert files.exists()
    files.unlink()
    _one_more(text)
    again = load(frozen="")
    assert again.train.tolist() == first.train.tolist()
    assert "text.jsonl holds another text" in again.drift.altered
    assert encodings == [40]


def _meddling(changes: list[Callable[[], object]]) -> Progress:
    """Do the next of the changes when a phase of the work begins: reading, encoding, reading …"""
    phases: list[str] = []

    def progress(fraction: float, what: str) -> None:
        if phases[-1:] != [what]:
            phases.append(what)
            if len(phases) > 1 and changes:
                changes.pop(0)()

    return progress


def test_file_that_grows_while_it_is_encoded_is_read_again(load: Load, text: Path) -> None:
    """The index had the fingerprint of 40 documents, and the tokens of 41."""
    source = load(progress=_meddling([lambda: _one_more(text)]))
    assert source.documents == 41
    assert source.fingerprint == survey([*DOCUMENTS, "one more"]).fingerprint
    assert (source.train == LEARNED_SEPARATOR).sum() + (
        source.held_out == LEARNED_SEPARATOR
    ).sum() == 41
    assert load().drift.is_same


def test_file_that_grew_only_between_two_readings_leaves_no_trace(load: Load, text: Path) -> None:
    """Grown for the encoding and then put back: its tokens were kept for ever."""
    data = text.read_bytes()
    meddling = _meddling([lambda: _one_more(text), lambda: text.write_bytes(data)])
    source = load(progress=meddling)
    assert source.fingerprint == survey(DOCUMENTS).fingerprint
    assert (source.train == LEARNED_SEPARATOR).sum() + (
        source.held_out == LEARNED_SEPARATOR
    ).sum() == 40


def test_file_that_never_stands_still_is_refused_and_no_index_is_left(
    load: Load, text: Path, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="changed each time it was read"):
        load(progress=_meddling([lambda: _one_more(text)] * 9))
    assert not list((tmp_path / "tokens" / "small").glob("*.json"))
    assert not list((tmp_path / "tokens" / "small").glob("*.bin"))


def test_new_file_of_a_glob_is_told_and_left_out(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    source = SourceSettings(path="shards/*.jsonl")

    def prepare(frozen: str | None) -> TokenizedSource:
        return tokenize_source(
            "shards",
            source,
            run=RunDirectory(tmp_path),
            tokenizer=tokenizer,
            vocab_size=300,
            progress=ignore,
            frozen=frozen,
        )

    (tmp_path / "shards").mkdir()
    for number in range(3):
        path = tmp_path / "shards" / f"{number}.jsonl"
        path.write_bytes(
            b"\n".join(orjson.dumps({"text": t}) for t in small_documents(20 + number))
        )
    first = prepare(None)
    shutil.copy(path, tmp_path / "shards" / "3.jsonl")
    again = prepare("")
    assert (again.drift.altered, again.drift.added) == ("", "shards/3.jsonl is new")
    (tmp_path / "shards" / "1.jsonl").unlink()
    gone = prepare("")
    assert gone.drift.altered == "shards/1.jsonl is gone"
    assert gone.train.tolist() == again.train.tolist() == first.train.tolist()


def test_source_names_never_leave_the_folder_and_never_share_one(
    load: Load, tmp_path: Path
) -> None:
    names = ["..", "a/b", "a.b", "a%2Fb", "ä ö"]
    for name in names:
        load(name=name)
    folders = [path for path in (tmp_path / "tokens").iterdir() if path.is_dir()]
    assert len(folders) == len(names)
    assert {path.name for path in tmp_path.iterdir()} == {"text.jsonl", "tokens"}


def _torn(path: Path) -> None:
    for tokens_file in (path.parent / "tokens" / "small").glob("*.bin"):
        tokens_file.unlink()


@pytest.mark.parametrize(
    "change", [_one_more, _another, _torn, lambda path: os.utime(path, (1, 1))]
)
def test_tokens_that_a_fork_has_by_links_stay_as_they_are(
    load: Load, text: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    """Neither run can harm the other's: each of our paths into `tokens/` makes files anew."""
    load()
    ours, theirs = tmp_path / "tokens", tmp_path / "fork" / "tokens"
    shutil.copytree(ours, theirs, copy_function=os.link)
    before = {path: path.read_bytes() for path in theirs.rglob("*.*")}
    assert len(before) >= 4
    change(text)
    load()
    load(vocab_size=70_000)
    assert {path: path.read_bytes() for path in theirs.rglob("*.*")} == before
