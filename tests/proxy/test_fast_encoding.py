"""The fast encoder: the ids of `tokenizers` for any text, or none at all."""

import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from trainer.proxy.fast_encoding import FastEncoder, fast_encoder

_WORDS = [
    "don't",
    "we'll",
    "they've",
    "I'm",
    "she'd",
    "it's",
    "you're",
    "the",
    "of",
    "and",
    "",
    "2,5",
]
_WORDS += ["1984", "naïve", "straße", "漢字", "👍🏽", "½", "٣٤"]
_ODD = [
    "\n",
    "\t",
    " ",
    "  ",
    "\x00",
    "\x85",
    "\u00a0",
    "\u2003",
    "\r\n",
    "'",
    "'s",
    "<|endoftext|>",
    "\x1c",
    "İ",
]


def _learned() -> Tokenizer:
    chance = random.Random(1)
    text = [" ".join(chance.choices(_WORDS, k=40)) + "aaaa  \n\n   b" * 3 for _ in range(60)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        text,
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    tokenizer.encode_special_tokens = True
    return tokenizer


REFERENCE = _learned()


def _fast(told: dict[str, Any] | None = None) -> FastEncoder | None:
    return fast_encoder(json.dumps(told or json.loads(REFERENCE.to_str())).encode())


FAST = _fast()


def _require_same(texts: list[str]) -> None:
    assert FAST is not None
    wanted = [e.ids for e in REFERENCE.encode_batch_fast(texts, add_special_tokens=False)]
    assert FAST.encode(texts, 1) == wanted


@given(text=st.text())
def test_any_text_gets_the_ids_of_the_reference(text: str) -> None:
    _require_same([text])


@given(parts=st.lists(st.sampled_from(_WORDS + _ODD), max_size=30))
def test_words_spaces_and_contractions_get_the_ids_of_the_reference(parts: list[str]) -> None:
    _require_same(["".join(parts)])


@pytest.mark.parametrize("around", ["a{}b", "1{}2", " {} .", "\n{}\n", "'{}s"])
def test_characters_of_every_kind_get_the_ids_of_the_reference(around: str) -> None:
    """A prime step through all of them, and each of the first 12,000."""
    numbers = [*range(12_000), *range(12_000, sys.maxunicode + 1, 97)]
    characters = [chr(number) for number in numbers if not 0xD800 <= number < 0xE000]
    _require_same(["".join(around.format(character) for character in characters)])


def test_several_threads_give_the_ids_of_one() -> None:
    assert FAST is not None
    texts = [" ".join(_WORDS), "", "a", "\n"]
    assert FAST.encode(texts, 2) == FAST.encode(texts, 1)


@pytest.mark.parametrize("run", ["a", "a1", "é", "!"])
def test_long_words_get_the_ids_of_the_reference(run: str) -> None:
    _require_same([run * 30_000])


@pytest.mark.parametrize("space", [" ", "\n", "\u2003"])
def test_endless_white_space_is_left_to_the_reference(space: str) -> None:
    assert FAST is not None
    assert not FAST.can_encode("begin" + space * 10_000 + "end")
    assert not FAST.can_encode(space * 10_000)
    assert FAST.can_encode("word" + space * 4_000 + "word")
    _require_same(["word" + space * 9_999 + "word"])


def _merging(told: dict[str, Any], merges: list[list[str]]) -> None:
    told["model"]["merges"] = merges
    for merge in merges:
        told["model"]["vocab"].setdefault("".join(merge), len(told["model"]["vocab"]))


def test_token_that_no_text_can_have_is_joined_by_neither() -> None:
    """`abc` by `ab` + `c`, where `bc` is always joined before."""
    told = json.loads(_bare().to_str())
    _merging(told, [["b", "c"], ["a", "b"], ["ab", "c"]])
    reference = Tokenizer.from_str(json.dumps(told))
    fast = _fast(told)
    assert fast is not None
    for text in ("abc", "aabcc", "ab abc abbc"):
        assert fast.encode([text], 1) == [reference.encode(text).ids]


def _bare() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {character: number for number, character in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def test_order_of_merges_that_is_not_that_of_the_ids_gives_no_fast_encoder() -> None:
    told = json.loads(_bare().to_str())
    _merging(told, [["b", "c"], ["a", "b"]])
    told["model"]["merges"].reverse()
    assert _fast(told) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.update(normalizer={"type": "NFC"}),
        lambda told: told.update(pre_tokenizer=None),
        lambda told: told["pre_tokenizer"].update(add_prefix_space=True),
        lambda told: told["pre_tokenizer"].update(use_regex=False),
        lambda told: told["pre_tokenizer"].update(type="Whitespace"),
        lambda told: told["model"].update(ignore_merges=True),
        lambda told: told["model"].update(unk_token="a"),
        lambda told: told["model"]["vocab"].pop("b"),
        lambda told: told["model"].update(type="WordLevel"),
        lambda told: told["added_tokens"].append({"content": "x", "special": False}),
    ],
)
def test_more_than_a_plain_byte_level_bpe_gives_no_fast_encoder(
    change: Callable[[dict[str, Any]], object],
) -> None:
    told = json.loads(_bare().to_str())
    assert _fast(told) is not None
    change(told)
    assert _fast(told) is None


def test_merges_of_the_older_format_are_read() -> None:
    told = json.loads(REFERENCE.to_str())
    told["model"]["merges"] = [" ".join(merge) for merge in told["model"]["merges"]]
    fast = _fast(told)
    assert fast is not None
    assert FAST is not None
    assert fast.encode(_WORDS, 1) == FAST.encode(_WORDS, 1)
