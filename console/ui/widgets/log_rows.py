"""Lines of text as rows of a pane: one each, or as many as a long line takes; pure."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import chop_cells

from trainer.rundir.names import escape_control


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What stands in a row: characters `start` to `end` (exclusive) of an escaped line."""

    line: int
    start: int
    end: int


class LogRows:
    """Rows of these lines at this width; the lines are data and are escaped."""

    def __init__(
        self, texts: Sequence[str], width: int, *, wraps: bool = False, shift: int = 0
    ) -> None:
        """`wraps`: a long line takes several rows; else it is cut, without its first `shift`."""
        self._texts = texts
        self._width = max(width, 1)
        self._shift = shift
        self._starts: list[int] | None = None
        """The first row of each line, and the number of rows; `None`: a row a line."""
        if wraps:
            counts = (len(self._pieces(index)) for index in range(len(texts)))
            self._starts = list(accumulate(counts, initial=0))

    @property
    def count(self) -> int:
        return len(self._texts) if self._starts is None else self._starts[-1]

    def text(self, line: int) -> str:
        """The whole line, escaped."""
        return escape_control(self._texts[line], keep_newlines=False)

    def row_of(self, line: int) -> int:
        """The first row of a line; of the one behind the last, the number of rows."""
        return line if self._starts is None else self._starts[line]

    def line_at(self, row: int) -> int:
        """The line in a row; the nearest for a row that isn't there."""
        row = min(max(row, 0), max(self.count - 1, 0))
        return row if self._starts is None else bisect_right(self._starts, row) - 1

    def part_at(self, row: int) -> Part:
        """What stands in a row."""
        line = self.line_at(row)
        if self._starts is None:
            return Part(line=line, start=self._shift, end=self._shift + self._width + 1)
        ends = list(accumulate(self._pieces(line), initial=0))
        piece = row - self._starts[line]
        return Part(line=line, start=ends[piece], end=ends[piece + 1])

    def _pieces(self, line: int) -> list[int]:
        """Characters in each row of a line that wraps."""
        text = self.text(line)
        if text.isascii():
            full, rest = divmod(len(text), self._width)
            return [self._width] * full + ([rest] if rest or not full else [])
        # a text of no width at all, as a lone modifier, yields none
        return [len(piece) for piece in chop_cells(text, self._width) or [text]]
