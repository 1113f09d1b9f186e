"""A byte-level BPE `tokenizer.json` as a tiktoken encoding: the same ids in a fraction of the time.

Not every tokenizer is one: then there is no fast encoder, and `tokenizers` encodes.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import tiktoken
import tokenizers

_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How `tokenizers` splits a text into words for `ByteLevel`: GPT-2's pattern."""

_SPACES = 5_000
"""A run of white space of twice as many is left to the reference: from some hundred thousand on
the look-ahead of the pattern ends tiktoken with a panic."""

_PLAIN_BPE: Mapping[str, Any] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


class FastEncoder:
    """Text to tokens, the names of special tokens being text."""

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        self._encoding = tiktoken.Encoding(
            "run", pat_str=_PATTERN, mergeable_ranks=dict(ranks), special_tokens={}
        )

    def encode(self, documents: Sequence[str], n_threads: int) -> list[list[int]]:
        """Token ids of each document; each must be one that `can_encode`."""
        if n_threads == 1 or len(documents) == 1:
            return [self._encoding.encode_ordinary(document) for document in documents]
        return self._encoding.encode_ordinary_batch(list(documents), num_threads=n_threads)

    @staticmethod
    def can_encode(document: str) -> bool:
        """Whether it has no endless run of white space: that would contain a whole block of it."""
        starts = range(0, len(document) - _SPACES + 1, _SPACES)
        return not any(document[start : start + _SPACES].isspace() for start in starts)


def fast_encoder(tokenizer_json: bytes) -> FastEncoder | None:
    """The encoder that gives the ids of this tokenizer for any text, if there is one.

    `None`: it is more than a plain byte-level BPE with GPT-2's words, or merges in an order that
    isn't the order of its ids. Raises `ValueError` where it is no tokenizer.
    """
    told = json.loads(tokenizer_json)
    if not _is_plain(told):
        return None
    reference = tokenizers.Tokenizer.from_buffer(tokenizer_json)
    vocab: Mapping[str, int] = told["model"]["vocab"]
    bytes_of = _byte_alphabet()
    if not bytes_of.keys() <= vocab.keys():
        return None
    merged = list(_reachable(told["model"]["merges"], reference))
    ids = [vocab[token] for token in merged]
    if any(before >= after for before, after in pairwise(ids)):
        return None
    tokens = [*bytes_of, *merged]
    return FastEncoder({bytes(map(bytes_of.__getitem__, t)): vocab[t] for t in tokens})


def default_threads() -> int:
    """Those of an encoder that may take the whole machine, as `tokenizers` has it."""
    is_alone = os.environ.get("TOKENIZERS_PARALLELISM") == "false"
    return 1 if is_alone else len(os.sched_getaffinity(0))


def _is_plain(told: Mapping[str, Any]) -> bool:
    words = told.get("pre_tokenizer") or {}
    is_gpt2 = words.get("type") == "ByteLevel" and words.get("use_regex", True)
    model = told["model"]
    return (
        is_gpt2
        and not words.get("add_prefix_space", True)
        and not told.get("normalizer")
        and all(token["special"] for token in told.get("added_tokens", ()))
        and all((model.get(name) or None) == (value or None) for name, value in _PLAIN_BPE.items())
    )


def _reachable(merges: Sequence[Any], reference: tokenizers.Tokenizer) -> Iterator[str]:
    """The merges' tokens that a text can have, in the merges' order.

    tiktoken joins any two neighbours that make a token, `tokenizers` only those of a merge. What
    either does to the bytes of a token that is reached doesn't depend on what is around it, so the
    two agree on all texts where they do on each token alone; one that `tokenizers` doesn't make of
    its own bytes is in no text at all.
    """
    for merge in merges:
        token = "".join(merge.split(" ") if isinstance(merge, str) else merge)
        if len(reference.model.tokenize(token)) == 1:
            yield token


def _byte_alphabet() -> dict[str, int]:
    """The byte that each character of a byte-level token stands for.

    Printable characters of Latin-1 are themselves; the rest follows from U+0100 on, in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printable)
    shifted = {chr(0x100 + number): byte for number, byte in enumerate(others)}
    return {chr(byte): byte for byte in sorted(printable)} | shifted
