"""What a step of a run was fed, as the process that finds it tells whoever asks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDocument:
    """A document that a row has tokens of; all names and texts are foreign."""

    file: str
    """As the source's path has it; empty: a `python:` source, or it was not kept."""
    row: int
    """Line, element or row of the file, from 1; 0: it was not kept."""
    document: int
    """Its number among the source's, from 1; 0: it was not kept."""
    text: str
    """What the row has of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """A row of a batch."""

    row: int
    """In the batch, from 1."""
    source_row: int
    """In the source's tokens, from 0."""
    seen: int
    """How often the source had given it before."""
    documents: tuple[RowDocument, ...]
    tokens: tuple[int, ...]
    """(context + 1,) ids: inputs, and the target of the last."""
    loss_before: float | None = None
    """Nats a token, at the checkpoint before the step; `None`: not asked, or there is none."""
    loss_after: float | None = None
    """At the first checkpoint with the step in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows of one step."""

    step: int
    phase: int
    arm: str
    loss: float | None
    """On record."""
    rows: tuple[BatchRow, ...]
    before: int | None = None
    """Step of the checkpoint that `loss_before` is taken at."""
    after: int | None = None
    is_proven: bool | None = None
    """Whether these rows gave the loss on record, bit for bit; `None`: the checkpoint before is
    not of the step before, so that nothing tells."""

    def as_json(self) -> dict[str, Any]:
        """For scripts, and between the processes."""
        return asdict(self)

    def worst_first(self) -> "Batch":
        """Its rows by their loss at the checkpoint before, or after; without any as they are."""
        rows = sorted(self.rows, key=lambda row: -(row.loss_before or row.loss_after or 0.0))
        return replace(self, rows=tuple(rows))


def batch_of(told: Mapping[str, Any]) -> Batch:
    """The batch that `as_json` tells."""
    rows = tuple(
        BatchRow(
            **{**row, "tokens": tuple(row["tokens"])}
            | {"documents": tuple(RowDocument(**document) for document in row["documents"])}
        )
        for row in told["rows"]
    )
    known = {field.name: told[field.name] for field in fields(Batch)}
    return Batch(**{**known, "rows": rows})
