"""The coherence score of a sample: 0 to 100, from four parts that repetition can't have."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trainer.proxy.english import english_words

BIGRAM_POINTS = 35.0
TRIGRAM_POINTS = 35.0
WORD_POINTS = 20.0
CHARACTER_POINTS = 10.0

FEWEST_WORDS = 20
"""A text of fewer words is judged as if the missing ones had earned nothing."""

ALL_CHARACTERS = 40
"""Different characters that earn the character part in full; 300 words of prose have 35 to 50."""

# A word: letters and digits, with apostrophes inside (don't). Else: what no text contains.
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[\ufffd\x00-\x08\x0e-\x1f\x7f-\x9f]+")
_UNREADABLE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coherence:
    """A score and its four parts, in points."""

    bigram_diversity: float
    """0 to 35."""
    trigram_diversity: float
    """0 to 35."""
    english_words: float
    """0 to 20."""
    character_diversity: float
    """0 to 10."""

    @property
    def score(self) -> float:
        """The sum: 0 to 100."""
        return (
            self.bigram_diversity
            + self.trigram_diversity
            + self.english_words
            + self.character_diversity
        )


def score_text(text: str) -> Coherence:
    """Judge a text, by itself: the same text has the same score at every step of every run.

    With n the number of words, but at least 20:

    - bigram diversity: 35 x different pairs of neighbouring words / (n - 1)
    - trigram diversity: 35 x different triples / (n - 2)
    - English words: 20 x words of the list (`english.py`) / n. A word that ends a triple which
      the text had before doesn't count: "region" is an English word, but the thousandth isn't
      one more.
    - character diversity: 10 x different characters / 40, at most 10

    Case is ignored. Unreadable bytes (U+FFFD, control characters) are no characters, and a pair
    or triple over them is none. So an endless loop, of whatever length up to a quarter of the
    sample, is under 30 points, and so is noise in bytes; any language has the first two parts.
    Empty text has 0.
    """
    words = _WORDS.findall(text.lower().replace("’", "'"))
    words = [word if word[0].isalnum() else _UNREADABLE for word in words]
    n = max(FEWEST_WORDS, len(words))
    pairs = set(pairwise(words))
    triples = set(zip(words, words[1:], words[2:], strict=False))
    characters = {character for character in text if character.isprintable()} - {"\ufffd"}
    return Coherence(
        bigram_diversity=BIGRAM_POINTS * _readable(pairs) / (n - 1),
        trigram_diversity=TRIGRAM_POINTS * _readable(triples) / (n - 2),
        english_words=WORD_POINTS * _new_english_words(words, triples) / n,
        character_diversity=CHARACTER_POINTS * min(1.0, len(characters) / ALL_CHARACTERS),
    )


def _readable(ngrams: Iterable[tuple[str, ...]]) -> int:
    return sum(_UNREADABLE not in ngram for ngram in ngrams)


def _new_english_words(words: Sequence[str], triples: Iterable[tuple[str, ...]]) -> int:
    english = english_words()
    firsts = set(words[:2])  # no triple ends in them
    return len(firsts & english) + sum(triple[2] in english for triple in triples)
