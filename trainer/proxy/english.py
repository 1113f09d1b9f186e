"""The English word list: pyspellchecker's, counted in film subtitles, with inflected forms."""

from functools import cache

from spellchecker import SpellChecker

SHORT_LETTERS = 3
SHORT_MIN_COUNT = 1000
"""Words of up to three letters must be this frequent: the list has most pairs of letters."""

ONE_LETTER_WORDS = frozenset({"a", "i"})


@cache
def english_words() -> frozenset[str]:
    """About 160,000 words in lower case, read once (a quarter of a second).

    The package is pinned to one version, for a score means the same only over the same list.
    """
    counts = SpellChecker(language="en").word_frequency.dictionary
    return frozenset(word for word, count in counts.items() if _is_word(word, count))


def _is_word(word: str, count: int) -> bool:
    if len(word) == 1:
        return word in ONE_LETTER_WORDS
    return len(word) > SHORT_LETTERS or count >= SHORT_MIN_COUNT
