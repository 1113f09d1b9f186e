"""How much text a source has: exact where that is cheap, else an estimate."""

from dataclasses import dataclass

from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.sources.documents import PYTHON, find_files, read_documents
from trainer.rundir.sources.prepared import read_indexes
from trainer.rundir.sources.text_rules import text_rules
from trainer.rundir.sources.token_files import token_files, token_ranges

READ_BYTES = 32 << 20
"""Text that is read before the rest is judged by the size of its files: a second's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSize:
    """Documents and text of a source; of its tokens there is only an estimate, if it is text."""

    documents: int
    text_bytes: int
    is_exact: bool
    """Whether all of it was read."""
    tokens: int | None
    """By the bytes a token of the run's other sources; None: none of them is encoded yet."""


def measure_source(
    run: RunDirectory, source: SourceSettings, *, read_bytes: int = READ_BYTES
) -> SourceSize:
    """Read a source, up to `read_bytes` of its text; what is left is taken to be alike.

    Raises:
        SourceError: no such file, no text, a line that is no JSON.
    """
    if source.holds_tokens:
        return _of_tokens(run, source)
    documents = text_bytes = 0
    is_exact = True
    for document in read_documents(source, run.path):
        documents += 1
        text_bytes += len(document.encode())
        if text_bytes >= read_bytes and not source.path.startswith(PYTHON):
            is_exact = False
            break
    if not is_exact:
        file_bytes = sum(path.stat().st_size for path in find_files(source, run.path).files)
        scale = max(1.0, file_bytes / text_bytes)
        documents, text_bytes = round(documents * scale), round(text_bytes * scale)
    bytes_per_token = bytes_per_token_of(run)
    tokens = None if bytes_per_token is None else round(text_bytes / bytes_per_token)
    return SourceSize(documents=documents, text_bytes=text_bytes, is_exact=is_exact, tokens=tokens)


def _of_tokens(run: RunDirectory, source: SourceSettings) -> SourceSize:
    """Documents by those of the first range."""
    first = next(token_ranges(source, run.path, text_rules(load_settings(run.settings))))
    documents = sum(1 for _ in first.documents())
    files = list(token_files(source, run.path))
    tokens = sum(file.count for file in files)
    return SourceSize(
        documents=round(documents * tokens / (first.end - first.begin)),
        text_bytes=sum(file.bytes for file in files),
        is_exact=tokens == first.end - first.begin,
        tokens=tokens,
    )


def bytes_per_token_of(run: RunDirectory) -> float | None:
    """Over all sources whose tokens are kept in the run; None if there is none."""
    text_bytes = tokens = 0
    for _, index in read_indexes(run.tokens):
        if index.text_bytes:
            text_bytes += index.text_bytes
            tokens += index.train_tokens + index.held_out_tokens
    return text_bytes / tokens if tokens else None
