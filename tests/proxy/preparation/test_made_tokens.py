"""Tokens that are made already: prepared as text is, by any number of processes, after any kill."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.own_tokenizer import SEPARATOR_NUMBER as END
from tests.own_tokenizer import write_own_tokenizer
from tests.proxy.preparation.test_prepare import bytes_of
from tests.token_files import write_llm_c, write_megatron, write_nanogpt
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.preparation.token_pieces import hashed_tokens
from trainer.proxy.progress import Progress, ignore
from trainer.proxy.tokenizer import load_tokenizer
from trainer.rundir.config.settings import SourceSettings, TokenizerSettings
from trainer.rundir.sources import token_files
from trainer.rundir.sources.prepared import TokenIndex, drift_of, write_index
from trainer.rundir.sources.text_rules import TextRules

RULES = TextRules(piece_characters=64, vocab_size=300)
_CHANCE = random.Random(3)
DOCUMENTS = [[_CHANCE.randrange(END) for _ in range(_CHANCE.randrange(2, 90))] for _ in range(300)]
STREAM = [token for document in DOCUMENTS for token in (*document, END)]
Prepare = Callable[..., TokenIndex]


class _GivenUpError(Exception):
    pass


@pytest.fixture
def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    monkeypatch.setattr(token_files, "RANGE_TOKENS", 1000)
    own = write_own_tokenizer(tmp_path / "tokenizer.json")
    tokenizer = load_tokenizer(own, vocab_size=300, settings=TokenizerSettings(path=str(own)))

    def call(to: str, path: str, n_workers: int = 1, progress: Progress = ignore) -> TokenIndex:
        index, files = Preparation(
            name="made",
            source=SourceSettings(path=path),
            base=tmp_path,
            folder=tmp_path / to,
            rules=RULES,
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=progress,
            n_workers=n_workers,
        ).run()
        if progress is ignore and n_workers == 1:
            write_index(tmp_path / to, index, files)
        return index

    return call


def _sides(folder: Path, index: TokenIndex) -> tuple[list[int], list[int]]:
    train, held_out = (np.fromfile(folder / name, "<u2").tolist() for name in index.file_names)
    return train, held_out


def test_each_token_is_on_one_side_in_its_order(tmp_path: Path, prepare: Prepare) -> None:
    write_nanogpt(tmp_path / "a.bin", STREAM)
    index = prepare("to", "tokens:a.bin")
    train, held_out = _sides(tmp_path / "to", index)
    assert (index.documents, index.text_bytes) == (300, 0)
    assert 0 < len(held_out) < 0.06 * len(STREAM)
    assert train[-1] == held_out[-1] == END
    there = [token for token in train + held_out if token != END]
    assert sorted(there) == sorted(token for token in STREAM if token != END)
    rest = iter(STREAM)
    assert all(token in rest for token in train if token != END)


def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path, prepare: Prepare) -> None:
    write_nanogpt(tmp_path / "a.bin", STREAM)
    write_megatron(tmp_path / "b.bin", [[document] for document in DOCUMENTS[:50]])
    times = [0]

    def give_up(fraction: float, what: str) -> None:
        if what.startswith("encoding"):
            times[0] += 1
            if times[0] % 3 == 0 and times[0] < 60:
                raise _GivenUpError

    assert prepare("one", "tokens:?.bin", progress=lambda *_: None) == prepare(
        "two", "tokens:?.bin", n_workers=2
    )
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")
    for _ in range(100):
        try:
            prepare("broken", "tokens:?.bin", progress=give_up)
            break
        except _GivenUpError:
            continue
    assert times[0] > 6
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "one")


def test_the_same_documents_are_the_same_source_in_any_layout(
    tmp_path: Path, prepare: Prepare
) -> None:
    write_nanogpt(tmp_path / "a.bin", STREAM)
    write_llm_c(tmp_path / "b.bin", STREAM)
    write_llm_c(tmp_path / "c.bin", STREAM, is_wide=True)
    write_megatron(tmp_path / "d.bin", [[[*document, END]] for document in DOCUMENTS])
    made = [prepare(name, f"tokens:{name}.bin") for name in "abcd"]
    assert len({index.fingerprint for index in made}) == 1
    assert len({str(_sides(tmp_path / n, i)) for n, i in zip("abcd", made, strict=True)}) == 1


def test_one_long_document_has_held_out_tokens_too(tmp_path: Path, prepare: Prepare) -> None:
    write_nanogpt(tmp_path / "a.bin", [token for token in STREAM if token != END])
    _, held_out = _sides(tmp_path / "to", prepare("to", "tokens:a.bin"))
    assert 0 < len(held_out) < 0.06 * len(STREAM)


def test_a_passage_is_cut_alike_wherever_it_stands() -> None:
    def pieces(tokens: list[int]) -> set[bytes]:
        return {digest for digest, _ in hashed_tokens(np.array(tokens, "<u4").tobytes(), 16)}

    passage = STREAM[2000:6000]
    alone, inside = pieces(passage), pieces([*STREAM[:777], *passage, *STREAM[9000:]])
    assert len(alone) > 150
    assert len(alone - inside) <= 4  # at its ends


def test_tokens_at_another_time_are_the_same_and_other_tokens_are_told(
    tmp_path: Path, prepare: Prepare
) -> None:
    path = write_nanogpt(tmp_path / "a.bin", STREAM)
    index = prepare("to", "tokens:a.bin")
    source = SourceSettings(path="tokens:a.bin")

    def drift(ns: int) -> str:
        os.utime(path, ns=(ns, ns))
        return drift_of(source, tmp_path, tmp_path / "to", index, rules=RULES).altered

    assert not drift(1)
    write_nanogpt(path, [*STREAM[:500], 1, *STREAM[501:]])
    assert drift(2) == "a.bin holds another text"
