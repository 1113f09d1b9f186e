"""A history read from its beginning, or from a place in its middle, by different processes."""

import os
from dataclasses import dataclass
from pathlib import Path

from console.view.cached_file import CHUNK_BYTES, read_news
from console.view.loss_history import History
from trainer.rundir.reading import reading
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_file import RecordTail

_BETWEEN = b"},\n{"
_BEFORE_BYTES = 256 << 10
"""Read before a cut, for what the marks behind it depend on: 200 records are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHistory:
    """A history, and the tail to go on from."""

    tail: RecordTail[LossRecord]
    history: History
    damaged_lines: int = 0
    begin: int = 0
    """The offset behind which it was read."""

    def joined(self, later: "ReadHistory") -> "ReadHistory":
        """With what was read behind it; without, where that is not known to be the same as if
        this one had been read on.
        """
        is_behind = self.tail.offset == later.begin and self.tail.identity == later.tail.identity
        if not is_behind or not self.history.join(later.history):
            return self
        damaged_lines = self.damaged_lines + later.damaged_lines
        return ReadHistory(tail=later.tail, history=self.history, damaged_lines=damaged_lines)


def read_history(path: Path, cut: int | None = None) -> ReadHistory:
    """All of it as it is now, or up to `cut`, which is the end of a record."""
    tail, history, damaged_lines = RecordTail(path, read_loss_records), History(), 0
    has_more = True
    while has_more and (cut is None or tail.offset < cut):
        room = CHUNK_BYTES if cut is None else min(CHUNK_BYTES, cut + 2 - tail.offset)
        news = tail.look(room)
        if news.is_restarted:
            history, damaged_lines = History(), 0
        history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    return ReadHistory(tail=tail, history=history, damaged_lines=damaged_lines)


def read_behind(path: Path, cut: int) -> ReadHistory:
    """What lies behind `cut` as it is now."""
    tail = RecordTail(path, read_loss_records)
    begin = max(cut - _BEFORE_BYTES, 0)
    tail.pass_to(begin)
    history, damaged_lines = History.behind(tail.look(cut + 2 - begin).records), 0
    begin = tail.offset
    has_more = True
    while has_more:
        news = read_news(tail)
        if news.is_restarted:
            return ReadHistory(tail=tail, history=History(), begin=-1)
        history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    return ReadHistory(tail=tail, history=history, damaged_lines=damaged_lines, begin=begin)


def find_cut(path: Path, n_bytes: int) -> int | None:
    """The end of a record near the middle; `None` where none is found. Raises `OSError`."""
    with reading(path, follows_links=False) as file:
        middle = n_bytes // 2
        found = os.pread(file.fileno(), CHUNK_BYTES, middle).find(_BETWEEN)
    return None if found < 0 else middle + found + 1
