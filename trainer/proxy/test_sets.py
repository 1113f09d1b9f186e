"""Test sets: measured, never trained on, and what training text is kept apart from."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from trainer.proxy.preparation.overlap import grams_of
from trainer.proxy.progress import Progress
from trainer.proxy.tokenizer import TextTokenizer
from trainer.proxy.tokens import TokenizedSource, tokenize_source
from trainer.rundir.atomic import write_atomic
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.documents import naming
from trainer.rundir.sources.prepared import TEXT_DIGITS, token_folder
from trainer.rundir.sources.text_rules import TextRules, text_rules

MOST_TEST_BYTES = 64 << 20
"""Of text: its 13-grams are some 90 MB, which all processes share. Usual sets are 1 to 20 MB."""

_AT_ONCE = 256
"""Documents."""


def open_tests(
    run: RunDirectory,
    settings: Settings,
    tokenizer: TextTokenizer,
    frozen: Mapping[str, str] | None,
    progress: Progress,
) -> dict[str, TokenizedSource]:
    """The run's test sets by the names that they have beside sources, prepared where they aren't.

    `frozen`: the texts of a run with a history, by name, as far as they are known; they stay as
    they were prepared. Raises as `tokenize_source` does.
    """
    rules = replace(
        text_rules(settings),
        is_test=True,
        piece_characters=0,
        held_out_tokens=0,
        drops_duplicates=False,
    )
    tests = {}
    for name, source in settings.tests.items():
        tests[name] = test = tokenize_source(
            name,
            source,
            run=run,
            tokenizer=tokenizer,
            vocab_size=settings.model.vocab_size,
            progress=progress,
            rules=rules,
            frozen=None if frozen is None else frozen.get(name, ""),
        )
        with naming(name):
            if test.index.text_bytes > MOST_TEST_BYTES:
                raise SourceError(
                    f"{source.path}: is {test.index.text_bytes:,} bytes of text; a test set has at"
                    f" most {MOST_TEST_BYTES:,}: name a part of it"
                )
        _keep_grams(_grams_path(run.tokens, name, test), test, tokenizer, progress)
    return tests


def rules_apart(
    run: RunDirectory, settings: Settings, tests: Mapping[str, TokenizedSource]
) -> TextRules:
    """How a run's sources are read: apart from its test sets."""
    files = (_grams_path(run.tokens, name, test) for name, test in tests.items())
    apart = tuple(str(file.relative_to(run.path)) for file in files)
    return replace(text_rules(settings), apart=apart)


def _grams_path(tokens: Path, name: str, test: TokenizedSource) -> Path:
    return token_folder(tokens, name) / f"{test.fingerprint[:TEXT_DIGITS]}.grams.bin"


def _keep_grams(
    path: Path, test: TokenizedSource, tokenizer: TextTokenizer, progress: Progress
) -> None:
    """Of what was prepared, not of the files: these may be others by now."""
    if path.exists():
        return
    found = [np.empty(0, np.uint64)]
    for documents in _documents(test, tokenizer):
        progress(0.0, f"reading {test.name}")
        found += [grams.hashes for grams in grams_of(documents)]
    write_atomic(path, np.unique(np.concatenate(found)).astype("<u8").tobytes())


def _documents(test: TokenizedSource, tokenizer: TextTokenizer) -> Iterator[list[bytes]]:
    documents: list[bytes] = []
    start = 0
    for end in np.flatnonzero(test.held_out == tokenizer.separator).tolist():
        documents.append(tokenizer.decode(test.held_out[start:end].tolist()).encode())
        start = end + 1
        if len(documents) == _AT_ONCE:
            yield documents
            documents = []
    yield documents
