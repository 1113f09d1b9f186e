"""`val_loss` of runs side by side source by source, on the rows that all share; pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from console.fork.paired_rows import Paired, pair
from trainer.rundir.config.settings import DEFAULT_HELD_OUT_ROWS
from trainer.rundir.records.record_fields import number, whole
from trainer.rundir.records.record_file import Record

Rows = Mapping[str, float]
"""Loss of each held-out row by its hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLoss:
    """Of one source, in all runs."""

    name: str
    """Foreign text."""
    rows: int
    """That all share; 0: none, and each loss is of that run's own rows."""
    losses: tuple[float | None, ...]
    """Of each run; None where it has no such source."""
    against_first: tuple[Paired | None, ...]
    """Of each run; None for the first, and where rows aren't the same."""


def by_source(audits: Sequence[Record]) -> tuple[SourceLoss, ...]:
    """Of one audit a run: the sources that any of them tells."""
    of_runs = [rows_by_source(audit) for audit in audits]
    all_rows = [rows_of(audit) for audit in audits]
    shared = set.intersection(*(set(rows) for rows in all_rows))
    names = dict.fromkeys(name for audit in audits for name in _losses(audit))
    return tuple(_of_source(name, audits, of_runs, all_rows, shared) for name in names)


def rows_of(audit: Record) -> dict[str, float]:
    """All rows that the audit tells of."""
    written = audit.get("val_rows")
    if not isinstance(written, dict):
        return {}
    return {row: loss for row, loss in written.items() if isinstance(loss, int | float)}


def rows_by_source(audit: Record) -> dict[str, Rows]:
    """They stand source by source; a version that did not tell how many of each took 16."""
    rows, names = rows_of(audit), _losses(audit)
    told = audit.get("val_row_counts")
    if isinstance(told, dict):
        counts = {name: whole(told, name) or 0 for name in names}
    else:
        counts = dict.fromkeys(names, DEFAULT_HELD_OUT_ROWS)
    if sum(counts.values()) != len(rows):
        return {}
    left = iter(rows.items())
    return {name: dict(islice(left, max(n, 0))) for name, n in counts.items()}


def _of_source(
    name: str,
    audits: Sequence[Record],
    of_runs: Sequence[Mapping[str, Rows]],
    all_rows: Sequence[Rows],
    shared: set[str],
) -> SourceLoss:
    own: Rows = next((of_run[name] for of_run in of_runs if name in of_run), {})
    of_source = [row for row in own if row in shared]
    if not of_source:
        losses = tuple(number(_losses(audit), name) for audit in audits)
        return SourceLoss(name=name, rows=0, losses=losses, against_first=(None,) * len(audits))
    taken = [{row: rows[row] for row in of_source} for rows in all_rows]
    return SourceLoss(
        name=name,
        rows=len(of_source),
        losses=tuple(statistics.fmean(rows.values()) for rows in taken),
        against_first=(None, *(pair(taken[0], rows) for rows in taken[1:])),
    )


def _losses(audit: Record) -> Record:
    told = audit.get("val_losses")
    return told if isinstance(told, dict) else {}
