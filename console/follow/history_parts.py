"""A history read from its beginning, or from a place in its middle, by different processes."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from console.view.cached_file import CHUNK_BYTES, read_news
from console.view.loss_history import History
from trainer.rundir.reading import reading
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_file import RecordTail

_BETWEEN = b"},\n{"
Part = tuple[int, bytes]
"""Where a part of the file ends, and the sha256 of it."""
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
    parts: tuple[Part, ...] = ()
    """The bytes that all this follows from, from the beginning on; empty where it isn't known."""
    n_new_bytes: int = 0
    """So many of them were read now, and not known before."""

    def joined(self, later: "ReadHistory") -> "ReadHistory":
        """With what was read behind it; without, where that is not known to be the same as if
        this one had been read on.
        """
        is_behind = self.tail.offset == later.begin and self.tail.identity == later.tail.identity
        if not is_behind or not self.history.join(later.history):
            return self
        is_known = self.parts and later.parts
        return ReadHistory(
            tail=later.tail,
            history=self.history,
            damaged_lines=self.damaged_lines + later.damaged_lines,
            parts=(*self.parts, *later.parts) if is_known else (),
            n_new_bytes=self.n_new_bytes + later.n_new_bytes,
        )


def read_history(path: Path, cut: int | None = None) -> ReadHistory:
    """All of it as it is now, or up to `cut`, which is the end of a record."""
    tail = RecordTail(path, read_loss_records)
    return read_on(ReadHistory(tail=tail, history=History()), cut)


def read_on(known: ReadHistory, cut: int | None = None) -> ReadHistory:
    """What is `known`, which is used up, and what lies behind it."""
    tail, history, damaged_lines = known.tail, known.history, known.damaged_lines
    begin, tail.digest = tail.offset, hashlib.sha256()
    has_more = True
    while has_more and (cut is None or tail.offset < cut):
        room = CHUNK_BYTES if cut is None else min(CHUNK_BYTES, cut + 2 - tail.offset)
        news = tail.look(room)
        if news.is_restarted:
            history, damaged_lines = History(), 0
        history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    return _read(tail, history, damaged_lines, begin, known.parts)


def _read(
    tail: RecordTail[LossRecord],
    history: History,
    damaged_lines: int,
    begin: int,
    before: tuple[Part, ...] = (),
) -> ReadHistory:
    """From `begin` on, behind the parts before that."""
    digest, tail.digest = tail.digest, None
    n_new_bytes = tail.offset - begin
    parts = () if digest is None else before
    if digest is not None and n_new_bytes:
        parts = (*before, (tail.offset, digest.digest()))
    return ReadHistory(
        tail=tail,
        history=history,
        damaged_lines=damaged_lines,
        begin=begin,
        parts=parts,
        n_new_bytes=n_new_bytes,
    )


def read_behind(path: Path, cut: int) -> ReadHistory:
    """What lies behind `cut` as it is now."""
    tail = RecordTail(path, read_loss_records)
    begin = max(cut - _BEFORE_BYTES, 0)
    tail.pass_to(begin)
    history, damaged_lines = History.behind(tail.look(cut + 2 - begin).records), 0
    begin, tail.digest = tail.offset, hashlib.sha256()
    has_more = True
    while has_more:
        news = read_news(tail)
        if news.is_restarted:
            return ReadHistory(tail=tail, history=History(), begin=-1)
        history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    return _read(tail, history, damaged_lines, begin)


def find_cut(path: Path, n_bytes: int) -> int | None:
    """The end of a record near the middle; `None` where none is found. Raises `OSError`."""
    with reading(path, follows_links=False) as file:
        middle = n_bytes // 2
        found = os.pread(file.fileno(), CHUNK_BYTES, middle).find(_BETWEEN)
    return None if found < 0 else middle + found + 1
