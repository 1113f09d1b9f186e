"""Where a text repeats itself: what a model does first when it goes bad."""

import re

REPEATED_WORDS = 4
"""So many words in a row that were there before count as repeated."""
_WORD = re.compile(r"\S+")


def repeated_spans(text: str) -> tuple[tuple[int, int], ...]:
    """From which character to which (exclusive) the text says again what it has said."""
    words = list(_WORD.finditer(text))
    seen: set[tuple[str, ...]] = set()
    spans: list[tuple[int, int]] = []
    for first in range(len(words) - REPEATED_WORDS + 1):
        group = words[first : first + REPEATED_WORDS]
        key = tuple(word[0].lower() for word in group)
        if key in seen:
            start, end = group[0].start(), group[-1].end()
            if spans and start <= spans[-1][1]:
                start = spans.pop()[0]
            spans.append((start, end))
        seen.add(key)
    return tuple(spans)


def repeated_share(text: str) -> float:
    """The share of the words that lie in repeated stretches, 0 to 1."""
    n_words = len(_WORD.findall(text))
    n_repeated = sum(len(_WORD.findall(text[start:end])) for start, end in repeated_spans(text))
    return n_repeated / n_words if n_words else 0.0
