"""Cut text where its own content says so: the same passage is cut alike wherever it stands."""

import zlib
from collections.abc import Iterator

_WINDOW_CHARACTERS = 32
"""What a cut depends on besides the line that it follows: the end of the piece so far."""

_HASHES = 2**32


class PieceCutter:
    """Tells after which lines a piece ends; pieces have about `characters` on average.

    After a line by chance, and the likelier the longer the line is; chance is a hash of the last
    characters of the piece. So nothing far away counts: of a passage that two documents share,
    only the pieces at its two ends can be others.
    """

    def __init__(self, characters: int) -> None:
        self._characters = characters
        self._window = ""

    def ends_after(self, line: str) -> bool:
        """Take the next line, with its line feed; whether a piece ends after it."""
        self._window = (self._window + line)[-_WINDOW_CHARACTERS:]
        is_cut = _is_cut(self._window, len(line), self._characters)
        if is_cut:
            self._window = ""
        return is_cut


def pieces_of(text: str, characters: int) -> Iterator[str]:
    """The text in pieces of about `characters`; joined they are the text.

    As `PieceCutter` tells, line by line, without its calls: most of all text goes through here.
    """
    longest, size = longest_line(characters), len(text)
    start = begin = 0
    while begin < size:
        end = text.find("\n", begin, begin + longest) + 1 or min(begin + longest, size)
        window = text[max(start, end - _WINDOW_CHARACTERS) : end]
        if _is_cut(window, end - begin, characters):
            yield text[start:end]
            start = end
        begin = end
    if start < size:
        yield text[start:]


def longest_line(characters: int) -> int:
    """A longer line is taken in parts of this size."""
    return 4 * characters


def _is_cut(window: str, line_characters: int, characters: int) -> bool:
    drawn = zlib.crc32(window.encode())
    return drawn * characters < line_characters * _HASHES
