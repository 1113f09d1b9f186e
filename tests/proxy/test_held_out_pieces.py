"""At most so many tokens of a source are held out, and what is held out is trained on nowhere."""

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import pytest

from trainer.proxy.held_out import BY_HASH, HashedTokens
from trainer.proxy.held_out_pieces import OrderedPieces
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.sources.text_rules import TextRules, text_rules

MOST_TOKENS = 400


def lines_of(seed: int, n: int) -> list[str]:
    """Lines that are pieces of their own, each another one."""
    chance = random.Random(seed)
    words = ("the", "cat", "sat", "on", "a", "mat", "while", "rain", "fell")
    return [f"{' '.join(chance.choices(words, k=40))} {seed}-{number}\n" for number in range(n)]


SMALL, LARGE = lines_of(1, 1000), lines_of(2, 6000)


class Prepared:
    """A source's tokens on disk."""

    def __init__(
        self,
        path: Path,
        tokenizer: TextTokenizer,
        *,
        most: int = MOST_TOKENS,
        n_workers: int = 1,
        drops: bool = False,
    ) -> None:
        folder = path.with_name(f"{path.name} as {most} by {n_workers}")
        self.index, _ = Preparation(
            name="text",
            source=SourceSettings(path=str(path)),
            base=path.parent,
            folder=folder,
            rules=TextRules(piece_characters=64, held_out_tokens=most, drops_duplicates=drops),
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=ignore,
            n_workers=n_workers,
        ).run()
        train, held_out = (folder / name for name in self.index.file_names)
        self.bytes = train.read_bytes(), held_out.read_bytes()
        self.train, self.held_out = (_lines(tokenizer, path) for path in (train, held_out))


def _lines(tokenizer: TextTokenizer, path: Path) -> set[str]:
    tokens = np.fromfile(path, "<u2")
    ends = np.flatnonzero(tokens == tokenizer.separator)
    text = "".join(tokenizer.decode(part.tolist()) for part in np.split(tokens, ends + 1))
    return set(text.splitlines())


def put(path: Path, lines: Sequence[str]) -> Path:
    path.write_bytes(
        b"".join(
            orjson.dumps({"text": "".join(lines[at : at + 20])}) + b"\n"
            for at in range(0, len(lines), 20)
        )
    )
    return path


def test_of_a_large_source_at_most_so_many_tokens_are_held_out_those_of_the_least_hashes(
    tmp_path: Path, tokenizer: TextTokenizer
) -> None:
    path = put(tmp_path / "large.jsonl", LARGE)
    few, all_of_it = (Prepared(path, tokenizer, most=most) for most in (MOST_TOKENS, 10**9))
    assert MOST_TOKENS / 2 < few.index.held_out_tokens <= MOST_TOKENS
    assert all_of_it.index.held_out_tokens > 2 * MOST_TOKENS
    assert few.held_out < all_of_it.held_out
    assert few.bytes[0] == all_of_it.bytes[0], "what is trained on is the same"
    total = few.index.held_out_tokens + few.index.set_aside_tokens
    assert total == all_of_it.index.held_out_tokens


def test_a_text_held_out_of_a_small_source_is_trained_on_in_no_large_one_nor_the_other_way_round(
    tmp_path: Path, tokenizer: TextTokenizer
) -> None:
    small = Prepared(put(tmp_path / "small.jsonl", SMALL), tokenizer)
    large = Prepared(put(tmp_path / "large.jsonl", [*LARGE, *SMALL]), tokenizer)
    assert len(small.held_out) > 3
    assert small.held_out - large.held_out, "the large one holds out less of it"
    assert not small.held_out & large.train
    assert not large.held_out & small.train


@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_choice_is_the_texts_alone_however_it_lies_on_the_disk(
    tmp_path: Path, tokenizer: TextTokenizer, n_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = put(tmp_path / "plain.jsonl", LARGE)
    expected = Prepared(plain, tokenizer)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr("trainer.proxy.preparation.units.UNIT_BYTES", 50_000)
    monkeypatch.setattr("trainer.proxy.preparation.units._SMALL_FILE_BYTES", 1_000)
    for path in (plain, packed):
        found = Prepared(path, tokenizer, most=MOST_TOKENS, n_workers=n_workers)
        assert found.bytes == expected.bytes
        assert found.index == expected.index


def test_copies_that_are_dropped_are_no_part_of_the_choice(
    tmp_path: Path, tokenizer: TextTokenizer
) -> None:
    once = Prepared(put(tmp_path / "once.jsonl", LARGE), tokenizer, drops=True)
    twice = Prepared(put(tmp_path / "twice.jsonl", [*LARGE, *LARGE]), tokenizer, drops=True)
    assert twice.bytes == once.bytes
    assert twice.index.set_aside_tokens == once.index.set_aside_tokens > 0
    assert twice.index.held_out_documents == once.index.held_out_documents


def test_of_a_source_of_few_pieces_no_more_than_a_twentieth_of_the_tokens_is_held_out() -> None:
    pieces: HashedTokens = [(bytes([0, n]) + b"\0" * 30, b"t") for n in range(40)]
    count = OrderedPieces()
    count.add(pieces)
    count.add([])
    whole = OrderedPieces()
    whole.merge(count.told([10] * 40))
    kept = whole.settle(10**9, train_tokens=600)
    assert kept.spans() == [(0, 50)]
    assert (kept.documents, kept.set_aside) == (1, 350)


def test_all_copies_of_a_piece_are_on_one_side_and_each_counts() -> None:
    count = OrderedPieces()
    copies: HashedTokens = [(BY_HASH, b"copy")]
    for _ in range(6):
        count.add([(b"\0" * 8, b"first"), *copies, (b"\xff" * 32, b"trained on")])
    whole = OrderedPieces()
    whole.merge(count.told([1, 10] * 6))
    assert whole.settle(65, train_tokens=10**6).spans() == [
        (start, start + 1) for start in range(0, 66, 11)
    ]
    assert whole.settle(66, train_tokens=10**6).spans() == [(0, 66)]


def test_documents_are_counted_over_units() -> None:
    whole = OrderedPieces()
    for _ in range(3):
        unit = OrderedPieces()
        unit.add([(b"\1" * 8, b"a"), (b"\xff" * 32, b"b"), (b"\2" * 8, b"c")])
        whole.merge(unit.told([5, 5]))
    assert whole.settle(10**9, train_tokens=10**6).documents == 3
    assert OrderedPieces().settle(10, train_tokens=5).spans() == []


@pytest.mark.parametrize(("rules", "most"), [(3, 0), (4, 10_000_000)])
def test_the_bound_is_for_runs_of_rules_4_and_later(rules: int, most: int) -> None:
    assert text_rules(parse_settings(f"rules = {rules}\n")).held_out_tokens == most


def test_a_bound_that_an_earlier_run_has_no_rule_for_is_refused() -> None:
    with pytest.raises(SettingsError, match="a run of rules 3 holds out 1 %"):
        parse_settings("rules = 3\n[data]\nheld_out_tokens = 5\n")
    assert parse_settings("rules = 4\n[data]\nheld_out_tokens = 5\n").data.held_out_tokens == 5
