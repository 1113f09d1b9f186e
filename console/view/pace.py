"""How fast a run goes, when it ends, when it has stood still for too long; pure."""

from collections.abc import Reversible, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from trainer.rundir.records.loss_record import LossRecord

MEDIAN_RECORDS = 50
LONGEST_GAP_SECONDS = 600.0
"""A longer time between two records is a break or a clock that was set, not a pace."""
STALL_FLOOR_SECONDS = 5.0
SILENT_FLOOR_SECONDS = 60.0
"""For a trainer that doesn't say what it does: it may be sampling or saving."""
BUSY_SECONDS = 300.0
"""How long one save or one audit may take before it counts as hung."""
STARTING_SECONDS = 900.0
"""The same for a start: loading torch, tokenizing, compiling the first step."""


STILL_SECONDS = 30.0
"""A step that took less is no event, however quick the others are."""
_STILL_STEPS = 5
"""In medians: a step that took longer stood still meanwhile (SIGSTOP, a hung disk or driver)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Step times of the newest records; `None`: unknown."""

    step_seconds: float | None = None
    """Median time of a step alone, by the trainer's monotonic clock."""
    wall_seconds: float | None = None
    """Mean time a step with its share of audits and saves."""
    longest_gap_seconds: float = 0.0

    @property
    def steps_per_minute(self) -> float | None:
        return None if self.step_seconds is None else 60 / self.step_seconds


UNKNOWN_PACE = Pace()


def pace_of(recent: Sequence[LossRecord]) -> Pace:
    """The pace of the newest records, in file order.

    The wall clock may have been set between two records, and a trainer may have been down
    between two attempts: such a gap counts as its step's own time.
    """
    own = [seconds for record in recent if (seconds := _own_seconds(record)) is not None]
    gaps = [_gap_seconds(*pair) for pair in pairwise(recent)]
    known_gaps = [gap for gap in gaps if gap is not None]
    step_seconds = _median(own) or _median(known_gaps)
    if step_seconds is None:
        return UNKNOWN_PACE
    shares = [step_seconds if gap is None else gap for gap in gaps]
    return Pace(
        step_seconds=step_seconds,
        wall_seconds=fmean(shares) if shares else step_seconds,
        longest_gap_seconds=max(known_gaps, default=0.0),
    )


def _median(seconds: Sequence[float]) -> float | None:
    newest = seconds[-MEDIAN_RECORDS:]
    return median(newest) if newest else None


def _own_seconds(record: LossRecord) -> float | None:
    milliseconds = record.ms
    return milliseconds / 1000 if milliseconds and 0 < milliseconds < 1e9 else None


def _gap_seconds(before: LossRecord, after: LossRecord) -> float | None:
    """Wall time between two records of one attempt; `None` where it can't be a pace."""
    start, end = before.t, after.t
    if start is None or end is None or before.attempt != after.attempt:
        return None
    longest = max(LONGEST_GAP_SECONDS, 20 * (_own_seconds(after) or 0.0))
    return end - start if 0 < end - start <= longest else None


def eta_seconds(step: int, total_steps: int | None, pace: Pace) -> float | None:
    """Time to the last step; never negative."""
    if total_steps is None or pace.wall_seconds is None:
        return None
    return max(0, total_steps - step) * pace.wall_seconds


def patience_seconds(doing: str, pace: Pace, *, has_stepped: bool) -> float:
    """How long nothing may happen before the run counts as stalled.

    `doing` is the trainer's word, empty if it gives none; `has_stepped`: it has recorded a step
    since its start (the first one may include a compiler's work).
    """
    if doing in ("starting", "held") or not has_stepped:
        return STARTING_SECONDS
    three_steps = 3 * (pace.step_seconds or 0.0)
    if doing in ("sampling", "saving", "stopping"):
        return max(BUSY_SECONDS, three_steps)
    if doing == "training":
        return max(STALL_FLOOR_SECONDS, three_steps)
    return max(SILENT_FLOOR_SECONDS, three_steps, 3 * pace.longest_gap_seconds)


def still_seconds(record: LossRecord, before: LossRecord, recent: Sequence[LossRecord]) -> float:
    """How long the run stood still in or before the record's step; 0 where it did not.

    The step's own time is of a monotonic clock. Between two steps there may be an audit and a
    save, and a clock may have been set: only a long gap of one attempt counts.
    """
    if before.attempt != record.attempt:
        return 0.0
    own_seconds = _own_seconds(record) or 0.0
    if own_seconds > STILL_SECONDS:
        usual = _median([s for each in recent if (s := _own_seconds(each)) is not None]) or 0.0
        if usual and own_seconds > _STILL_STEPS * usual:
            return own_seconds
    gap = (record.t or 0.0) - (before.t or record.t or 0.0) - own_seconds
    return gap if gap > BUSY_SECONDS else 0.0


def newest_time(records: Reversible[LossRecord]) -> float | None:
    """Wall clock, seconds, of the last record that tells it."""
    return next((record.t for record in reversed(records) if record.t is not None), None)
