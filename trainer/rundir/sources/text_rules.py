"""How a run's rules have its text read and cut."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from trainer.rundir.config.rules import RULES
from trainer.rundir.config.settings import SEPARATOR, Settings

PIECE_CHARACTERS_PER_TOKEN = 4
"""A piece is about the text of a row: rows of shorter ones would be many beginnings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRules:
    """What of a run's rules and settings decides which documents its files give."""

    piece_characters: int = 0
    """About how much is held out at a time; 0: whole documents."""
    held_out_tokens: int = 0
    """Of a source at most; 0: no such bound, and what is held out is joined to stretches."""
    trusts_names: bool = False
    """Text that was trained on is read as the first version did, which knew files by suffix."""
    drops_duplicates: bool = False
    """Of documents of a source with the same text only the first becomes tokens."""
    is_test: bool = False
    """All of it is held out: it is a test set."""
    apart: tuple[str, ...] = ()
    """Of the test sets, the files of 13-grams that no text of it may share, relative to the run."""
    reads_arrays: bool = True
    """A JSON array of objects gives its elements' texts; else it is a text file."""
    refuses_web_archives: bool = True
    """WARC and WET files are no text."""
    separator: str = SEPARATOR
    """The token between documents that are tokens already, by name."""
    vocab_size: int = 0
    """The tokens that the model knows."""

    @property
    def apart_digest(self) -> str:
        """Of the test sets' texts; empty: there are none."""
        texts = sorted(Path(name).name for name in self.apart)
        return hashlib.sha256("".join(texts).encode()).hexdigest()[:16] if texts else ""


WHOLE_DOCUMENTS = TextRules()
"""Of a caller that has no run."""


def text_rules(settings: Settings) -> TextRules:
    """Those of a run."""
    rules = RULES[settings.rules]
    has_pieces = rules.holds_out_pieces
    return TextRules(
        piece_characters=PIECE_CHARACTERS_PER_TOKEN * settings.model.context if has_pieces else 0,
        held_out_tokens=settings.data.held_out_tokens if rules.bounds_held_out else 0,
        trusts_names=not has_pieces,
        reads_arrays=rules.reads_json_arrays,
        drops_duplicates=settings.data.drop_duplicates,
        refuses_web_archives=rules.refuses_web_archives,
        separator=settings.tokenizer.separator,
        vocab_size=settings.model.vocab_size,
    )
