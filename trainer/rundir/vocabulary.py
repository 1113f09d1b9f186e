"""What a `tokenizer.json` (Hugging Face format) says of its token ids, without the library."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.config.settings import TokenizerSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import TokenizerError
from trainer.rundir.reading import TOKENIZER_BYTES, read_file

_NAMED = 10
_HOW = (
    "name a tokenizer.json in the Hugging Face format; there is one beside most models, and"
    " libraries write one from their own formats"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The token ids of a tokenizer."""

    entries: int
    """Rows that the model needs: one more than the largest id."""
    separator: int
    """The id of the token that ends a document."""

    def require_rows(self, vocab_size: int) -> None:
        """Raise `TokenizerError` where the model has too few."""
        if self.entries > vocab_size:
            raise TokenizerError(
                f"has {self.entries} entries, more than model.vocab_size = {vocab_size}: the model"
                f" needs one row for each; write model.vocab_size = {self.entries}"
            )


def read_own_tokenizer(
    settings: TokenizerSettings, base: Path, *, vocab_size: int | None = None
) -> tuple[bytes, Vocabulary]:
    """The bytes of the file that `tokenizer.path` names, relative to `base`, and its token ids.

    `vocab_size`: the rows of the model, where that is known; they have to be enough.

    Raises `TokenizerError` that names file, setting and what to do.
    """
    named = settings.path
    if named.startswith("tiktoken:") or named.endswith(".tiktoken"):
        raise TokenizerError(f"tokenizer.path: {shown(named)}: is tiktoken's; {_HOW}")
    path = base / named
    try:
        path = base / Path(named).expanduser()
        data = read_file(path, at_most=TOKENIZER_BYTES)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", "") or error
        raise TokenizerError(
            f"tokenizer.path: {shown(path)}: cannot be read ({reason}); {_HOW}"
        ) from error
    try:
        vocabulary = vocabulary_of(data, settings.separator)
        if vocab_size is not None:
            vocabulary.require_rows(vocab_size)
        return data, vocabulary
    except TokenizerError as error:
        raise TokenizerError(f"tokenizer.path: {shown(path)}: {error}") from error


def vocabulary_of_run(run: Path, separator: str) -> Vocabulary:
    """That of the run's frozen `tokenizer.json`; raises `TokenizerError`."""
    path = RunDirectory(run).tokenizer
    try:
        return vocabulary_of(read_file(path, at_most=TOKENIZER_BYTES), separator)
    except OSError as error:
        raise TokenizerError(f"{shown(path)}: cannot be read ({error.strerror})") from error
    except TokenizerError as error:
        raise TokenizerError(f"{shown(path)}: {error}") from error


def vocabulary_of(data: bytes, separator: str) -> Vocabulary:
    """The token ids of a tokenizer's bytes.

    Raises:
        TokenizerError: it is none, encodes by chance, or has no such separator among its special
            tokens.
    """
    try:
        told = orjson.loads(data)
        added = told["added_tokens"] or []
        known, model = told["model"]["vocab"], told["model"]
        # a unigram model has a list
        ids = list(known.values()) if isinstance(known, dict) else list(range(len(known)))
        ids += [token["id"] for token in added]
        special = {str(token["content"]): int(token["id"]) for token in added if token["special"]}
        entries = max(ids) + 1
    except (ValueError, TypeError, KeyError) as error:
        raise TokenizerError(f"is no tokenizer; {_HOW}") from error
    _require_certain(model)
    if separator not in special:
        raise TokenizerError(_no_separator(separator, special))
    return Vocabulary(entries=entries, separator=special[separator])


def _require_certain(model: Mapping[str, Any]) -> None:
    if model.get("dropout"):
        raise TokenizerError(
            "has a dropout in its model: the same text would give other tokens each time; write"
            ' "dropout": null'
        )


def _no_separator(separator: str, special: Mapping[str, int]) -> str:
    names = [f"{name} ({number})" for name, number in special.items()]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    there = ", ".join(names[:_NAMED]) + more if names else "none"
    return (
        f"has no special token {separator!r} to end a document with; name one as"
        f" tokenizer.separator (it has {there})"
    )
