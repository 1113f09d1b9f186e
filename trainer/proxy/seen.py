"""When a document was given: found in the tokens, and followed back through the orders of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.past_batches import PastBatches, Phase
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SourceError
from trainer.rundir.seen import SeenDocument, Sighting
from trainer.rundir.sources.origins import Place, Places
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.sources.token_arrays import TokenArray, train_tokens

_CHUNK_TOKENS = 1 << 16
"""Decoded at a time, at least; up to the next separator."""
_RECENT_RECORDS = 1_000
"""That an arm's share of late is taken from."""
_HEAD_TOKENS = 64
"""Of a document that was asked for by its place."""

Told: TypeAlias = Callable[[str, int, int], None]
"""Called with a source's name, tokens searched so far, and all of them; may raise to give up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    begin: int
    """Its first training token."""
    end: int
    """The one after its last."""
    text: str
    place: Place


class Seen:
    """The documents that a run draws from, and when it did."""

    def __init__(self, run: RunDirectory, tokenizer: TextTokenizer) -> None:
        """Raises `HistoryError` or `OSError`."""
        self._past = PastBatches(run)
        self._tokenizer = tokenizer
        self._now = run.current_phase()

    def of_words(self, words: str, told: Told) -> Iterator[SeenDocument]:
        """Documents with these words in them, as they are written, within one passage.

        Raises as `PastBatches.draw`.
        """
        for arm, phases in self._texts():
            folder, index = phases[-1].source(arm)
            found = self._with_words(arm, folder, index, words, told)
            yield from (self._seen(arm, phases, index, each) for each in found)

    def of_file(self, name: str, row: int | None) -> Iterator[SeenDocument]:
        """Documents of the files of this name, or whose path ends with it; `row`: that one alone.

        Raises as `PastBatches.draw`.
        """
        for arm, phases in self._texts():
            folder, index = phases[-1].source(arm)
            places, tokens = Places(folder, index), train_tokens(folder, index)
            for number in places.of_file(name, row):
                begin, end = places.span(number)
                found = _Found(
                    begin=begin,
                    end=end,
                    text=self._decode(tokens, begin, min(end, begin + _HEAD_TOKENS)),
                    place=places.place(number),
                )
                yield self._seen(arm, phases, index, found)

    def _texts(self) -> Iterator[tuple[str, list[Phase]]]:
        """Each arm with the phases that it had the same text in."""
        by_text: dict[tuple[str, str], list[Phase]] = {}
        for number in [*self._past.phases, self._now]:
            phase = self._past.phase(number)
            for arm in phase.settings.sources:
                try:
                    _, index = phase.source(arm)
                except SourceError:  # gone: no bandit has it either
                    continue
                phases = by_text.setdefault((arm, index.fingerprint), [])
                if phase not in phases:
                    phases.append(phase)
        for (arm, _), phases in by_text.items():
            yield arm, phases

    def _with_words(
        self, arm: str, folder: Path, index: TokenIndex, words: str, told: Told
    ) -> Iterator[_Found]:
        tokens, places = train_tokens(folder, index), Places(folder, index)
        last = (0, 0)
        separator = self._tokenizer.separator
        for begin, end in _chunks(tokens, separator):
            told(arm, begin, len(tokens))
            if words not in self._decode(tokens, begin, end):
                continue
            for first, behind in _passages(tokens[begin:end], separator):
                text = self._decode(tokens, begin + first, begin + behind)
                if words not in text:
                    continue
                span, place = (begin + first, begin + behind), Place()
                if places.is_kept:
                    number = places.document_at(begin + first)
                    span, place = places.span(number), places.place(number)
                if span != last:
                    yield _Found(begin=span[0], end=span[1], text=_around(text, words), place=place)
                last = span
        told(arm, len(tokens), len(tokens))

    def _decode(self, tokens: TokenArray, begin: int, end: int) -> str:
        return self._tokenizer.decode(tokens[begin:end].tolist())

    def _seen(
        self, arm: str, phases: Sequence[Phase], index: TokenIndex, found: _Found
    ) -> SeenDocument:
        context = phases[-1].context
        n_rows = index.train_rows(context)
        first, last = max(0, found.begin - 1) // context, (found.end - 1) // context
        rows = np.arange(first, min(last, n_rows - 1) + 1)
        if found.begin == found.end:  # all of it is held out
            rows = rows[:0]
        sightings = [each for phase in phases for each in self._sightings(arm, phase, rows)]
        next_in_rows = next_in_steps = None
        if phases[-1].number == self._now and rows.size:
            next_in_rows = self._next_in_rows(arm, phases[-1], rows)
            next_in_steps = self._in_steps(arm, phases[-1], next_in_rows)
        return SeenDocument(
            source=arm,
            file=found.place.file,
            row=found.place.row,
            document=found.place.document,
            text=found.text,
            n_rows=len(rows),
            sightings=tuple(sightings),
            next_in_rows=next_in_rows,
            next_in_steps=next_in_steps,
        )

    def _sightings(self, arm: str, phase: Phase, rows: NDArray[np.int64]) -> Iterator[Sighting]:
        """Of these rows, in a phase: ascending."""
        drawn, ends = self._past.draws_of(arm, phase.context)
        here = [at for at, record in enumerate(drawn) if record.phase == phase.number]
        if not here or not rows.size:
            return
        begin = int(ends[here[0] - 1]) if here[0] else 0
        given = phase.given(arm, rows, begin, int(ends[here[-1]]))
        for at, order in zip(np.searchsorted(ends, given, side="right"), given, strict=True):
            record = drawn[at]
            yield Sighting(
                step=record.step or 0,
                phase=phase.number,
                row=int(order - (ends[at - 1] if at else 0)) + 1,
                t=record.t,
            )

    def _next_in_rows(self, arm: str, phase: Phase, rows: NDArray[np.int64]) -> int:
        _, ends = self._past.draws_of(arm, phase.context)
        given = int(ends[-1]) if len(ends) else 0
        return int(phase.given(arm, rows, given, given + 2 * phase.n_rows(arm))[0]) - given

    def _in_steps(self, arm: str, phase: Phase, rows: int) -> float | None:
        recent = [r for r in self._past.records[-_RECENT_RECORDS:] if r.phase == phase.number]
        n_drawn = sum(record.arm == arm for record in recent)
        return rows / phase.settings.rows * len(recent) / n_drawn if n_drawn else None


def _chunks(tokens: TokenArray, separator: int) -> Iterator[tuple[int, int]]:
    """Ranges of some tokens that end with a separator, or with the last one."""
    begin = 0
    while begin < len(tokens):
        end = begin + _CHUNK_TOKENS
        while end < len(tokens) and tokens[end - 1] != separator:
            ends = np.flatnonzero(tokens[end : end + _CHUNK_TOKENS] == separator)
            end += int(ends[0]) + 1 if ends.size else _CHUNK_TOKENS
        yield begin, min(end, len(tokens))
        begin = end


def _passages(tokens: TokenArray, separator: int) -> Iterator[tuple[int, int]]:
    """Ranges up to each separator."""
    ends = [*(np.flatnonzero(tokens == separator) + 1).tolist(), len(tokens)]
    yield from ((begin, end) for begin, end in pairwise([0, *ends]) if begin < end)


def _around(text: str, words: str) -> str:
    """The words, and some of what is about them."""
    at = text.index(words)
    return text[max(0, at - 80) : at + len(words) + 80].strip()
