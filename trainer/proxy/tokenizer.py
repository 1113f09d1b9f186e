"""The run's tokenizer: byte-level BPE, made once from the sources' training text, then frozen."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from trainer.proxy.held_out import Survey, digest_of, survey
from trainer.proxy.progress import Progress, interruptible
from trainer.proxy.randomness import derive_uniform
from trainer.rundir.atomic import write_atomic
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.environment import TokenizerError, lost_tokenizer, require_tokenizer
from trainer.rundir.reading import TOKENIZER_BYTES, read_file
from trainer.rundir.sources.documents import naming, read_documents
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS, TextRules

SEPARATOR = "<|endoftext|>"
SEPARATOR_ID = 0
"""The token that ends each document, and the only one a sample starts from."""

SAMPLE_BYTES = 2_000_000
"""Text of each source that the merges are learned from: enough for a stable vocabulary."""

PIECE_CHARACTERS = 8192
"""Documents are sampled in pieces of this size, so that a few huge ones are sampled too."""


_TRAINING = "training the tokenizer"
_SAMPLED = 0.9
"""How far that is when the text is read."""


class TextTokenizer:
    """Text to tokens and back; any text and any token ids are fine."""

    def __init__(self, data: bytes, *, may_be_fast: bool = True) -> None:
        self._data = data
        self.sha256 = hashlib.sha256(data).hexdigest()
        self._may_be_fast = may_be_fast
        self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
        # The separator's name in a text is text; only the end of a document is the token.
        self._tokenizer.encode_special_tokens = True

    def __reduce__(self) -> tuple[Callable[..., "TextTokenizer"], tuple[()]]:
        """For a process that encodes beside this one."""
        return partial(TextTokenizer, self._data, may_be_fast=self._may_be_fast), ()

    @property
    def entries(self) -> int:
        """Tokens that the text yielded; the model's `vocab_size` may be larger."""
        return self._tokenizer.get_vocab_size()

    @property
    def has_separator(self) -> bool:
        """Whether the separator is token 0, as everything that reads tokens takes for granted."""
        return self._tokenizer.token_to_id(SEPARATOR) == SEPARATOR_ID

    def encode(self, documents: Sequence[str]) -> list[list[int]]:
        """Token ids of each document, without the separator; several threads."""
        fast = self._fast
        if fast is None:
            return self._encode_by_reference(documents)
        if not all(map(fast.can_encode, documents)):
            return [
                ids
                for document in documents
                for ids in (
                    fast.encode([document], 1)
                    if fast.can_encode(document)
                    else self._encode_by_reference([document])
                )
            ]
        return fast.encode(documents, default_threads())

    def prove(self, documents: Sequence[str]) -> None:
        """Encode by `tokenizers` alone from here on if that gives other ids for these."""
        if self._fast and self.encode(documents) != self._encode_by_reference(documents):
            self._may_be_fast = False

    @property
    def was_refuted(self) -> bool:
        """Whether the fast encoder gave other ids than it should, and is not used any more."""
        return not self._may_be_fast

    @property
    def _fast(self) -> FastEncoder | None:
        return self._convert() if self._may_be_fast else None

    @cache
    def _convert(self) -> FastEncoder | None:
        return fast_encoder(self._data)

    def _encode_by_reference(self, documents: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch_fast(documents, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of any token ids: half characters become U+FFFD, unknown ids nothing."""
        return self._tokenizer.decode(tokens, skip_special_tokens=True)


def load_tokenizer(path: Path, *, vocab_size: int) -> TextTokenizer:
    """Read the frozen `tokenizer.json`.

    Raises:
        TokenizerError: it is no tokenizer, has more entries than the model's vocabulary, or
            doesn't have the separator as token 0.
    """
    data = read_file(path, at_most=TOKENIZER_BYTES)
    try:
        tokenizer = TextTokenizer(data)
    except ValueError as error:
        raise TokenizerError(f"{path}: not a tokenizer ({error}); restore it") from error
    if tokenizer.entries > vocab_size:
        raise TokenizerError(
            f"{path}: has {tokenizer.entries} entries, more than model.vocab_size = {vocab_size};"
            " the model needs one row for each"
        )
    if not tokenizer.has_separator:
        raise TokenizerError(f"{path}: token {SEPARATOR_ID} must be {SEPARATOR}")
    return tokenizer


def make_tokenizer(
    path: Path,
    sources: Mapping[str, SourceSettings],
    *,
    base: Path,
    vocab_size: int,
    progress: Progress,
    rules: TextRules = WHOLE_DOCUMENTS,
    wanted: str = "",
) -> TextTokenizer:
    """Learn the merges from the sources and freeze them in `path`; if it is there, read it.

    The same text gives the same bytes. `progress` may raise to give up: nothing is written then.
    By the run's `rules` of text: what is held out of training is held out of this, too.
    `wanted`: the sha256 of the one that a history was trained with; no other is taken, or made.

    Raises:
        SourceError, TokenizerError, OSError.
    """
    if not path.exists():
        data = _train(sources, base, vocab_size, progress, rules).encode()
        made = hashlib.sha256(data).hexdigest()
        if wanted and made != wanted:
            raise TokenizerError(f"{lost_tokenizer(path)} (sha256 {made} instead of {wanted})")
        write_atomic(path, data)
    tokenizer = load_tokenizer(path, vocab_size=vocab_size)
    require_tokenizer(path, tokenizer.sha256, wanted)
    return tokenizer


def _train(
    sources: Mapping[str, SourceSettings],
    base: Path,
    vocab_size: int,
    progress: Progress,
    rules: TextRules,
) -> str:
    samples = []
    for name, source in sources.items():
        with naming(name):
            read = partial(
                read_documents,
                source,
                base,
                rules=rules,
                check=partial(progress, 0.0, f"reading {name}"),
            )
            samples.append(_Sample(read, survey(read(), piece_characters=rules.piece_characters)))
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces = list(_sampled_text(samples, progress))
    interruptible(
        lambda: tokenizer.train_from_iterator(pieces, trainer),
        partial(progress, _SAMPLED, _TRAINING),
    )
    progress(1.0, _TRAINING)
    return tokenizer.to_str(pretty=True)


@dataclass(frozen=True)
class _Sample:
    documents: Callable[[], Iterator[str]]
    survey: Survey

    @property
    def bytes(self) -> int:
        return min(self.survey.text_bytes, SAMPLE_BYTES)

    def read(self) -> Iterator[str]:
        """Pieces of training text, picked by hash so that they are spread evenly."""
        share = SAMPLE_BYTES / self.survey.text_bytes
        for is_held_out, text in chain.from_iterable(map(self.survey.segments, self.documents())):
            if is_held_out:
                continue
            digest = digest_of(text).hex()
            for start in range(0, len(text), PIECE_CHARACTERS):
                if derive_uniform("piece", digest, start) < share:
                    yield text[start : start + PIECE_CHARACTERS]


def _sampled_text(samples: Sequence[_Sample], progress: Progress) -> Iterator[str]:
    total = sum(sample.bytes for sample in samples)
    done = 0
    for sample in samples:
        for piece in sample.read():
            yield piece
            done += len(piece)
            progress(min(done / total, _SAMPLED), _TRAINING)
