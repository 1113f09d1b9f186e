"""What of a source could not be read as text, counted and named."""

from dataclasses import dataclass, field

from trainer.rundir.outcomes import SourceError

NAMED = 5
_ENOUGH_RECORDS = 10_000
"""After which a source that is odd by half is refused without reading on."""


@dataclass(slots=True)
class LeftOut:
    """One reading of a source."""

    max_odd_share: float
    """Of records without a text; with more of them the source is refused."""
    records: int = 0
    """With a text."""
    odd_records: int = 0
    odd: list[str] = field(default_factory=list)
    """The first of them: where, and what is wrong."""
    files: int = 0
    """Of a folder, that are no text."""
    named_files: list[str] = field(default_factory=list)
    """The first of them: which, and what they are."""

    def add_record(self, what: str) -> None:
        """One record without a text; raises `SourceError` where they are most of them."""
        self.odd_records += 1
        if len(self.odd) < NAMED:
            self.odd.append(what)
        seen = self.records + self.odd_records
        if seen >= _ENOUGH_RECORDS and 2 * self.odd_records > seen:
            self.require_few()

    def add_file(self, what: str) -> None:
        """One file that is no text."""
        self.files += 1
        if len(self.named_files) < NAMED:
            self.named_files.append(what)

    def require_few(self) -> None:
        """Raise `SourceError` where more records are odd than the setting allows."""
        seen = self.records + self.odd_records
        if self.odd_records <= self.max_odd_share * seen:
            return
        if seen == 1 or not self.max_odd_share:
            raise SourceError(self.odd[0])
        raise SourceError(
            f"{self.odd_records:,} of {seen:,} records have no text, more than max_odd_share ="
            f" {self.max_odd_share:g}: {'; '.join(self.odd)}"
        )

    @property
    def words(self) -> str:
        """For the log; empty where all was text."""
        told = []
        if self.odd_records:
            told.append(f"{self.odd_records:,} records without a text: {'; '.join(self.odd)}")
        if self.files:
            told.append(f"{self.files:,} files that are no text: {'; '.join(self.named_files)}")
        return "; ".join(told)
