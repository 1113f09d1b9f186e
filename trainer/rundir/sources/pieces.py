"""Cut text where its own content says so: the same passage is cut alike wherever it stands."""

import re
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
        self.longest_line = 4 * characters
        """A longer line is to be given in parts of this size."""

    def ends_after(self, line: str) -> bool:
        """Take the next line, with its line feed; whether a piece ends after it."""
        self._window = (self._window + line)[-_WINDOW_CHARACTERS:]
        drawn = zlib.crc32(self._window.encode())
        if drawn * self._characters >= len(line) * _HASHES:
            return False
        self._window = ""
        return True


def pieces_of(text: str, characters: int) -> Iterator[str]:
    """The text in pieces of about `characters`; joined they are the text."""
    cutter = PieceCutter(characters)
    longest = cutter.longest_line
    start = end = 0
    for line in re.finditer(rf"[^\n]{{{longest}}}|[^\n]*\n|[^\n]+", text):
        end = line.end()
        if cutter.ends_after(line.group()):
            yield text[start:end]
            start = end
    if start < end:
        yield text[start:end]
