"""A small text and its tokenizer, made once."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer, make_tokenizer
from trainer.rundir.config.settings import SourceSettings

WORDS = ("the", "cat", "sat", "on", "a", "mat", "while", "rain", "fell", "and", "nobody", "came")


def small_documents(count: int) -> list[str]:
    """Different short documents."""
    return [
        " ".join(WORDS[(i * 7 + j * (1 + i % 5)) % len(WORDS)] for j in range(30)) + f" {i}."
        for i in range(count)
    ]


@pytest.fixture(scope="session")
def text_sources(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SourceSettings]:
    """One source of 300 files."""
    folder = tmp_path_factory.mktemp("text")
    for number, document in enumerate(small_documents(300)):
        (folder / f"{number:03}.txt").write_text(document)
    return {"small": SourceSettings(path=f"{folder}/*.txt")}


@pytest.fixture(scope="session")
def tokenizer(
    tmp_path_factory: pytest.TempPathFactory, text_sources: Mapping[str, SourceSettings]
) -> TextTokenizer:
    """Trained on it, 300 entries at most."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    return make_tokenizer(path, text_sources, base=Path(), vocab_size=300, progress=ignore)
