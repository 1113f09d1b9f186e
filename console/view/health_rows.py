"""Series by series how a run is, what is wrong first; pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from console import formatting
from console.health.verdict import Reason
from console.view.run_view import RunView

_NEWEST = 50
"""Checkpoints whose distances are the usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRow:
    """A series now against its own past."""

    series: str
    """May hold foreign text, as `text` may."""
    text: str
    is_ill: bool = False
    is_warning: bool = False
    """Neither well nor ill."""
    since_step: int | None = None
    since_t: float | None = None
    """Wall clock, seconds."""
    sureness: str = ""
    """How sure it is that something is wrong: `likely: 7 standard errors`."""


def health_rows(view: RunView, now: float) -> list[HealthRow]:
    """What the judge knows, then the disk and the checkpoints."""
    of_reasons: dict[str, HealthRow] = {}
    for reason in view.health.reasons:
        of_reasons.setdefault(reason.series, _of_reason(reason))
    well = [
        HealthRow(series=line.series, text=line.text)
        for line in view.health.lines
        if line.series not in of_reasons
    ]
    warned = [HealthRow(series="sources", text=each, is_warning=True) for each in view.warnings]
    rows = [*of_reasons.values(), *warned, *well, *_disk(view), *_checkpoints(view, now)]
    return sorted(rows, key=lambda row: (not row.is_ill, not row.is_warning))


def _of_reason(reason: Reason) -> HealthRow:
    sureness: str = reason.certainty
    if math.isfinite(reason.sigmas):
        sureness += f": {reason.sigmas:.0f} standard errors"
    return HealthRow(
        series=reason.series,
        text=reason.text,
        is_ill=True,
        since_step=reason.since_step,
        since_t=reason.since_t,
        sureness=sureness,
    )


def _disk(view: RunView) -> Iterator[HealthRow]:
    if view.free_bytes is None:
        return
    text = f"{formatting.size(view.free_bytes)} free"
    if view.room.is_short_of_inodes:
        text = f"{formatting.count(view.room.free_inodes, 'file')} free (inodes)"
    if view.full_in_seconds is not None:
        text += f", full in {formatting.duration(view.full_in_seconds)}"
    yield HealthRow(series="disk", text=text, is_ill=view.room.is_almost_full)


def _checkpoints(view: RunView, now: float) -> Iterator[HealthRow]:
    written = [row.modified for row in view.checkpoints[-_NEWEST:]]
    text = f"{formatting.age(now - written[-1])} old" if written else "none yet"
    if len(written) > 2:
        apart = median(after - before for before, after in pairwise(written))
        text += f", usually one in {formatting.duration(apart)}"
    newest = view.overdue_since
    is_known = view.newest is not None and newest == view.newest.step
    yield HealthRow(
        series="checkpoint",
        text=text,
        is_ill=newest is not None,
        since_step=newest if is_known else None,
        since_t=written[-1] if is_known else None,
        sureness="certain" if newest is not None else "",
    )
