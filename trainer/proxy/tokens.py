"""A source's tokens: encoded once, kept under `tokens/`, read through a memory map."""

from dataclasses import dataclass, replace

from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import Progress
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.sources.documents import naming
from trainer.rundir.sources.prepared import (
    COMPARED_BYTES,
    Drift,
    TokenIndex,
    drift_of,
    read_index,
    token_folder,
    write_index,
)
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS, TextRules
from trainer.rundir.sources.token_arrays import TokenArray, held_out_tokens, train_tokens


@dataclass(frozen=True, kw_only=True)
class TokenizedSource:
    """A source as the trainer sees it; each document, or part of one, ends with the separator."""

    name: str
    train: TokenArray
    held_out: TokenArray
    """Tokens of the held-out documents: no batch is ever drawn from them."""
    documents: int
    held_out_documents: int
    fingerprint: str
    """Identity of the source's text, to tell at a later start that it has changed."""
    drift: Drift
    """How the source's files differ from those that the tokens were made of."""
    left_out: str = ""
    """What of the files is no text, where they were read now."""
    set_aside: int = 0
    """Tokens that are neither trained on nor held out."""
    is_encoded_slowly: bool = False
    """What is prepared in this start is encoded by `tokenizers` alone from this source on:
    tiktoken gave other ids."""
    replaced: str = ""
    """How they differed from those of the tokens before, which were replaced now."""
    duplicates: str = ""
    """What became of documents that are there more than once, where they were prepared now."""
    apart: str = ""
    """What of it the test sets have, too, where it was prepared now."""
    index: TokenIndex


def tokenize_source(
    name: str,
    source: SourceSettings,
    *,
    run: RunDirectory,
    tokenizer: TextTokenizer,
    vocab_size: int,
    progress: Progress,
    rules: TextRules = WHOLE_DOCUMENTS,
    frozen: str | None = None,
) -> TokenizedSource:
    """The source's tokens, from the run's `tokens/` or made now.

    Little-endian uint16, or uint32 where `vocab_size` is over 65,536.

    `frozen`: the text that the phase has trained on: its fingerprint, or the first digits of it,
    or nothing where that is not known. Its tokens stay, whatever has become of the files; where
    they are gone, no other text is taken for it. `None`: nothing was trained in this phase yet. A
    text that has changed is encoded anew then; the tokens of the one before stay on disk.

    `progress` may raise to give up; a later call goes on. `rules`: how the run has text read.

    Raises:
        SourceError: neither text nor tokens are there, or not those that the phase has trained on;
            the text is empty, malformed, or changes while it is read.
        OSError: the cache can't be written.
    """
    folder = token_folder(run.tokens, name)
    dtype = _dtype(vocab_size)

    def check() -> None:
        progress(0.0, f"reading {name}")

    is_frozen = frozen is not None
    with naming(name):
        index, left_out, replaced, is_new = read_index(folder, frozen or ""), "", "", False
        made_as = tokenizer.sha256, dtype, rules.drops_duplicates, rules.apart_digest
        if index is not None:
            was_made_as = index.tokenizer, index.dtype, index.drops_duplicates, index.apart
            index = index if was_made_as == made_as else None
        drift = (
            Drift()
            if index is None
            else drift_of(
                source,
                run.path,
                folder,
                index,
                rules=rules,
                check=check,
                read_bytes=COMPARED_BYTES if is_frozen else None,
            )
        )
        if index is None or not (is_frozen or drift.is_same or drift.files is None):
            preparation = preparation_of(
                name,
                source,
                run=run,
                tokenizer=tokenizer,
                vocab_size=vocab_size,
                progress=progress,
                rules=rules,
            )
            index, files = replace(preparation, is_checked=not is_frozen, wanted=frozen or "").run()
            replaced = ", ".join(filter(None, (drift.altered, drift.added)))
            drift, left_out = Drift(files=files), index.left_out
            is_new = True
            write_index(folder, index, files)
        elif drift.is_same and drift.is_known and drift.files and drift.files.stamp != index.stamp:
            write_index(folder, index, drift.files)
    return TokenizedSource(
        name=name,
        train=train_tokens(folder, index),
        held_out=held_out_tokens(folder, index),
        documents=index.documents,
        held_out_documents=index.held_out_documents,
        fingerprint=index.fingerprint,
        drift=drift,
        left_out=left_out,
        set_aside=index.set_aside_tokens,
        is_encoded_slowly=tokenizer.was_refuted,
        replaced=replaced,
        duplicates=index.duplicate_words if is_new else "",
        apart=index.apart_words if is_new else "",
        index=index,
    )


def preparation_of(
    name: str,
    source: SourceSettings,
    *,
    run: RunDirectory,
    tokenizer: TextTokenizer,
    vocab_size: int,
    progress: Progress,
    rules: TextRules,
) -> Preparation:
    """How a source that nothing was trained on yet becomes tokens."""
    return Preparation(
        name=name,
        source=source,
        base=run.path,
        folder=token_folder(run.tokens, name),
        rules=rules,
        is_checked=True,
        tokenizer=tokenizer,
        dtype=_dtype(vocab_size),
        progress=progress,
    )


def _dtype(vocab_size: int) -> str:
    return "<u2" if vocab_size <= 65_536 else "<u4"
