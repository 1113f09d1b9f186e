"""Which checkpoints may go, and why each other one stays; pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainer.rundir.checkpoints.checkpoint import Checkpoint, Skipped
from trainer.rundir.config.settings import DEFAULT_HELD_OUT_ROWS, CheckpointSettings
from trainer.rundir.records.record_lines import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What thinning would do."""

    kept: Mapping[int, str]
    """Step → why it stays."""
    going: tuple[Checkpoint, ...]
    """By ascending step."""
    skipped: tuple[Skipped, ...] = ()
    """Files that are not the run's checkpoints: they stay, and count for nothing."""

    @property
    def freed_bytes(self) -> int:
        return sum(checkpoint.n_bytes for checkpoint in self.going)


def plan_thinning(
    checkpoints: Sequence[Checkpoint], settings: CheckpointSettings, protected: Mapping[int, str]
) -> Plan:
    """Split the checkpoints (by ascending step) by the settings; `protected` steps stay anyway.

    The newest stays whatever the settings say; with `keep_last` = 0 all do.
    """
    last = {checkpoint.step for checkpoint in checkpoints[-max(settings.keep_last, 1) :]}
    kept: dict[int, str] = {}
    for checkpoint in checkpoints:
        step = checkpoint.step
        if not settings.keep_last:
            kept[step] = protected.get(step, "all are kept")
        elif step in last:
            kept[step] = "the newest" if step == checkpoints[-1].step else "one of the last"
        elif step in protected:
            kept[step] = protected[step]
        elif step % settings.keep_every == 0:
            kept[step] = f"a multiple of {settings.keep_every:,}"
    return Plan(kept=kept, going=tuple(c for c in checkpoints if c.step not in kept))


def notable_steps(
    steps: Collection[int],
    audits: Iterable[Record],
    nonfinite_steps: Iterable[int],
    *,
    threshold: float,
    warmup_steps: int,
) -> dict[int, str]:
    """The checkpoints that an operator would go back to, of those at `steps`.

    The one with the best `val_loss`, the last before each step whose loss or gradient was not
    finite, and the last before the newest row of audits under the threshold (of all rows, a score
    that swings about the threshold would keep hundreds).
    """
    by_step = {audit["step"]: audit for audit in audits if type(audit.get("step")) is int}
    notable: dict[int, str] = {}
    before_unhealthy = _last_before(_first_unhealthy(by_step, threshold, warmup_steps), steps)
    if before_unhealthy is not None:
        notable[before_unhealthy] = "the last before an unhealthy audit"
    for nonfinite in nonfinite_steps:
        before = _last_before(nonfinite, steps)
        if before is not None:
            notable[before] = "the last before a loss or gradient that was not finite"
    rows = {step: a.get("held_out_rows", DEFAULT_HELD_OUT_ROWS) for step, a in by_step.items()}
    newest = rows[max(rows)] if rows else 0  # losses of other samples don't compare
    of_newest = (step for step in steps if rows.get(step) == newest)
    losses = {step: by_step[step].get("val_loss") for step in of_newest}
    measured = {step: loss for step, loss in losses.items() if isinstance(loss, int | float)}
    if measured:
        notable[min(measured, key=lambda step: (measured[step], step))] = "the best val_loss"
    return notable


def _first_unhealthy(
    by_step: Mapping[int, Record], threshold: float, warmup_steps: int
) -> int | None:
    """Where the newest row of audits under the threshold begins."""
    first, is_in_row = None, False
    for step in sorted(by_step):
        score = by_step[step].get("score")
        if step <= warmup_steps or not isinstance(score, int | float):
            continue
        if score < threshold and not is_in_row:
            first = step
        is_in_row = score < threshold
    return first


def _last_before(step: int | None, steps: Iterable[int]) -> int | None:
    return None if step is None else max((s for s in steps if s < step), default=None)
