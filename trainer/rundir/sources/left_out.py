"""What of a source could not be read as text, counted and named."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainer.rundir.outcomes import SourceError

NAMED = 5
_ENOUGH_RECORDS = 10_000
"""After which a source that is odd by half is refused without reading on."""


@dataclass(frozen=True, slots=True)
class Odd:
    """A record without a text."""

    where: str
    """The file, and what its records are: `a.jsonl, line`."""
    number: int
    """From 1."""
    why: str

    def __str__(self) -> str:
        """For a person."""
        return f"{self.where} {self.number:,}: {self.why}"


@dataclass(slots=True)
class LeftOut:
    """One reading of a source, or of a part of it."""

    max_odd_share: float
    """Of records without a text; with more of them the source is refused."""
    records: int = 0
    """With a text."""
    odd_records: int = 0
    odd: list[Odd] = field(default_factory=list)
    """The first of them."""
    files: int = 0
    """Of a folder, that are no text."""
    named_files: list[str] = field(default_factory=list)
    """The first of them: which, and what they are."""
    rows: int = 0
    """Lines, elements or rows that were gone through, blank ones too: of one file, or a piece."""

    def add_record(self, where: str, number: int, why: str) -> None:
        """One record without a text; raises `SourceError` where they are most of them."""
        self.odd_records += 1
        if len(self.odd) < NAMED:
            self.odd.append(Odd(where, number, why))
        self._require_some()

    def add_file(self, what: str) -> None:
        """One file that is no text."""
        self.files += 1
        if len(self.named_files) < NAMED:
            self.named_files.append(what)

    def add(self, part: "LeftOut", *, rows_before: int = 0) -> None:
        """What a part has left out; `rows_before`: of its file."""
        self.records += part.records
        self.odd_records += part.odd_records
        moved = [replace(odd, number=odd.number + rows_before) for odd in part.odd]
        self.odd = (self.odd + moved)[:NAMED]
        self.files += part.files
        self.named_files = (self.named_files + part.named_files)[:NAMED]
        self._require_some()

    def require_few(self) -> None:
        """Raise `SourceError` where more records are odd than the setting allows."""
        seen = self.records + self.odd_records
        if self.odd_records <= self.max_odd_share * seen:
            return
        first = "; ".join(map(str, self.odd))
        if seen == 1 or not self.max_odd_share:
            raise SourceError(first)
        raise SourceError(
            f"{self.odd_records:,} of {seen:,} records have no text, more than max_odd_share ="
            f" {self.max_odd_share:g}: {first}"
        )

    @property
    def words(self) -> str:
        """For the log; empty where all was text."""
        told = []
        if self.odd_records:
            first = "; ".join(map(str, self.odd))
            told.append(f"{self.odd_records:,} records without a text: {first}")
        if self.files:
            told.append(f"{self.files:,} files that are no text: {'; '.join(self.named_files)}")
        return "; ".join(told)

    def _require_some(self) -> None:
        seen = self.records + self.odd_records
        if seen >= _ENOUGH_RECORDS and 2 * self.odd_records > seen:
            self.require_few()


def left_out_from(told: Mapping[str, Any]) -> LeftOut:
    """From what `asdict` made of one."""
    return LeftOut(**{**told, "odd": [Odd(**odd) for odd in told["odd"]]})
