"""The run's tokenizer, frozen: byte-level BPE learned from its training text, or one's own."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from trainer.proxy.fast_encoding import FastEncoder, default_threads, fast_encoder
from trainer.proxy.held_out import Survey, digest_of, survey
from trainer.proxy.progress import Progress, interruptible
from trainer.proxy.randomness import derive_uniform
from trainer.rundir.atomic import write_atomic
from trainer.rundir.config.settings import (
    LEARNED_TOKENIZER,
    SEPARATOR,
    SourceSettings,
    TokenizerSettings,
)
from trainer.rundir.environment import lost_tokenizer, require_tokenizer
from trainer.rundir.names import shown
from trainer.rundir.outcomes import TokenizerError
from trainer.rundir.reading import TOKENIZER_BYTES, read_file
from trainer.rundir.sources.documents import naming, read_documents
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS, TextRules
from trainer.rundir.vocabulary import (
    Vocabulary,
    naming_tokenizer,
    read_own_tokenizer,
    vocabulary_of,
)

LEARNED_SEPARATOR = 0
"""The separator's id where the tokenizer was learned from the sources."""

SAMPLE_BYTES = 2_000_000
"""Text of each source that the merges are learned from: enough for a stable vocabulary."""

PIECE_CHARACTERS = 8192
"""Documents are sampled in pieces of this size, so that a few huge ones are sampled too."""

_TRAINING = "training the tokenizer"
_SAMPLED = 0.9
"""How far that is when the text is read."""


class TextTokenizer:
    """Text to tokens and back; any token ids are fine, and any text that its vocabulary covers."""

    def __init__(self, data: bytes, vocabulary: Vocabulary, *, was_refuted: bool = False) -> None:
        self._data = data
        self._vocabulary = vocabulary
        self.separator = vocabulary.separator
        """The token that ends each document, and the only one a sample starts from."""
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.was_refuted = was_refuted
        self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
        # The separator's name in a text is text; only the end of a document is the token.
        self._tokenizer.encode_special_tokens = True
        # one's own may have been saved with either: it would cut text off, or fill it up
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def __reduce__(self) -> tuple[Callable[..., "TextTokenizer"], tuple[bytes, Vocabulary]]:
        """For a process that encodes beside this one."""
        made = partial(TextTokenizer, was_refuted=self.was_refuted)
        return made, (self._data, self._vocabulary)

    @property
    def entries(self) -> int:
        """Rows that the model needs; its `vocab_size` may be larger."""
        return self._vocabulary.entries

    def encode(self, documents: Sequence[str]) -> list[list[int]]:
        """Token ids of each document, without the separator; several threads."""
        fast = None if self.was_refuted else self._fast
        if fast is None or not all(map(fast.can_encode, documents)):
            return self.encode_by_reference(documents)
        return fast.encode(documents, default_threads())

    def prove(self, documents: Sequence[str]) -> None:
        """Compare the fast encoder's ids of these with those of `tokenizers`.

        Where they differ, `tokenizers` alone encodes from here on: `was_refuted`.
        """
        fast = None if self.was_refuted else self._fast
        if fast is None:
            return
        told = [document for document in documents if fast.can_encode(document)]
        self.was_refuted = fast.encode(told, 1) != self.encode_by_reference(told)

    @cached_property
    def _fast(self) -> FastEncoder | None:
        return fast_encoder(self._data)

    def encode_by_reference(self, documents: Sequence[str]) -> list[list[int]]:
        """As `encode`, by `tokenizers` alone."""
        encoded = self._tokenizer.encode_batch_fast(documents, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of any token ids: half characters become U+FFFD, unknown ids nothing."""
        return self._tokenizer.decode(tokens, skip_special_tokens=True)


def load_tokenizer(
    path: Path, *, vocab_size: int, settings: TokenizerSettings = LEARNED_TOKENIZER
) -> TextTokenizer:
    """Read the frozen `tokenizer.json`.

    Raises:
        TokenizerError: it is no tokenizer, has more entries than the model's vocabulary, or
            doesn't have the separator: as token 0, where it was learned.
    """
    data = read_file(path, at_most=TOKENIZER_BYTES)
    with naming_tokenizer(shown(path)):
        tokenizer = _tokenizer_of(data, vocab_size, settings)
    if not settings.path and tokenizer.separator != LEARNED_SEPARATOR:
        raise TokenizerError(f"{path}: token {LEARNED_SEPARATOR} must be {SEPARATOR}")
    return tokenizer


def _tokenizer_of(data: bytes, vocab_size: int, settings: TokenizerSettings) -> TextTokenizer:
    vocabulary = vocabulary_of(data, settings.separator)
    vocabulary.require_rows(vocab_size)
    try:
        tokenizer = TextTokenizer(data, vocabulary)
    except ValueError as error:
        raise TokenizerError(f"is no tokenizer ({error})") from error
    if settings.path and tokenizer.separator in tokenizer.encode([settings.separator])[0]:
        raise TokenizerError(
            f"takes the name {settings.separator} in a text for the end of a document; choose"
            " another special token as tokenizer.separator"
        )
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
    settings: TokenizerSettings = LEARNED_TOKENIZER,
) -> TextTokenizer:
    """Learn the merges from the sources and freeze them in `path`; if it is there, read it.

    One's own, by the `settings`, is copied there instead.

    The same text gives the same bytes. `progress` may raise to give up: nothing is written then.
    By the run's `rules` of text: what is held out of training is held out of this, too.
    `wanted`: the sha256 of the one that a history was trained with; no other is taken, or made.

    Raises:
        SourceError, TokenizerError, OSError.
    """
    if not path.exists():
        if settings.path:
            data, _ = read_own_tokenizer(settings, base)
            with naming_tokenizer(f"tokenizer.path: {shown(base / settings.path)}"):
                _tokenizer_of(data, vocab_size, settings)
        else:
            data = _train(sources, base, vocab_size, progress, rules).encode()
        made = hashlib.sha256(data).hexdigest()
        if wanted and made != wanted:
            raise TokenizerError(f"{lost_tokenizer(path)} (sha256 {made} instead of {wanted})")
        write_atomic(path, data)
    tokenizer = load_tokenizer(path, vocab_size=vocab_size, settings=settings)
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
            check = partial(progress, 0.0, f"reading {name}")
            read = partial(read_documents, source, base, rules=rules, check=check)
            surveyed = survey(read(), piece_characters=rules.piece_characters, check=check)
            samples.append(_Sample(read, surveyed, check))
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
    check: Callable[[], None]

    @property
    def bytes(self) -> int:
        return min(self.survey.text_bytes, SAMPLE_BYTES)

    def read(self) -> Iterator[str]:
        """Pieces of training text, picked by hash so that they are spread evenly."""
        share = SAMPLE_BYTES / self.survey.text_bytes
        documents = (self.survey.segments(text, self.check) for text in self.documents())
        for is_held_out, text in chain.from_iterable(documents):
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
