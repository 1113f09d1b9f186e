"""What wants the operator's attention, each in one line; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from console import formatting
from console.view.disk_forecast import Room
from console.view.run_view import Audit, LossPoint, Refusal
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.config.settings import Settings
from trainer.rundir.state import State

_LOW_AUDITS = 2
_OVERDUE = 1.5
"""In cadences: how far beyond its newest checkpoint a run may come."""
_STATE_SECONDS = 30.0
"""How much older than the history the state file may be: a trainer writes it once a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a live trainer's files have come, for alarms that it may not be able to write."""

    step: int
    newest_checkpoint_step: int
    checkpoint_every: int
    state_behind_seconds: float
    """By how much `.state.json` is older than the newest record, by the trainer's own clock."""
    step_seconds: float

    @property
    def overdue_since(self) -> int | None:
        """The newest checkpoint's step, where another should be there by now."""
        due = self.newest_checkpoint_step + _OVERDUE * self.checkpoint_every
        return self.newest_checkpoint_step if self.step > due else None


def alarms_of(
    *,
    state: State | None,
    settings: Settings | None,
    last: LossPoint | None,
    audits: Sequence[Audit],
    room: Room,
    skipped: Sequence[Skipped],
    refusals: Sequence[Refusal] = (),
    progress: Progress | None,
) -> tuple[str, ...]:
    """The trainer's own alarms, then the console's; `audits` are this phase's by step,
    `refusals` what the next start would refuse.
    """
    found = [
        *_told(state),
        *(f"the next start would refuse: {refusal.what}" for refusal in refusals),
        _nonfinite(last),
        _gate(settings, audits, is_finished=state is not None and state.doing == "finished"),
        *(_behind(progress) if progress is not None else ()),
        _disk(room),
        _skipped(skipped),
    ]
    return tuple(alarm for alarm in found if alarm)


def _told(state: State | None) -> tuple[str, ...]:
    if state is None:
        return ()
    save = state.last_save
    if state.alarms or save is None or save.ok:
        return state.alarms
    return (f"checkpoint of step {formatting.steps(save.step)} not saved: {save.error}",)


def _nonfinite(last: LossPoint | None) -> str:
    if last is None or not last.nonfinite:
        return ""
    return f"the loss is {last.nonfinite} at step {formatting.steps(last.step)}"


def _gate(settings: Settings | None, audits: Sequence[Audit], *, is_finished: bool) -> str:
    """Audits under the threshold in a row, before they are enough to halt the run.

    A run that has finished can't be halted any more.
    """
    if settings is None or not settings.audit.patience or is_finished:
        return ""
    gate, warmup_steps = settings.audit, settings.optimizer.warmup_steps
    n_low = 0
    for audit in reversed(audits):
        if audit.score is None:
            continue
        if audit.step <= warmup_steps or audit.score >= gate.threshold:
            break
        n_low += 1
    if n_low < min(_LOW_AUDITS, gate.patience):
        return ""
    return (
        f"coherence gate: the last {formatting.count(n_low, 'audit')} under {gate.threshold:g};"
        f" {gate.patience} in a row halt the run"
    )


def _behind(progress: Progress) -> tuple[str, ...]:
    """What the files tell by themselves where the trainer can't write a word."""
    found = []
    newest = progress.overdue_since
    if newest is not None:
        since = f"since step {formatting.steps(newest)}" if newest else "yet"
        found.append(
            f"checkpoint overdue: none {since}, and one is due every"
            f" {formatting.steps(progress.checkpoint_every)} steps"
        )
    if progress.state_behind_seconds > max(_STATE_SECONDS, 3 * progress.step_seconds):
        age = formatting.duration(progress.state_behind_seconds)
        found.append(
            f".state.json can't be written: it is {age} older than the newest step, and what the"
            " trainer has to tell does not arrive"
        )
    return tuple(found)


def _disk(room: Room) -> str:
    n_fit = room.n_fit
    if n_fit is None or not room.is_almost_full:
        return ""
    left = "no checkpoint more" if not n_fit else f"{n_fit} more checkpoint{'s'[: n_fit - 1]}"
    free = f"{formatting.size(room.free_bytes)} free"
    if room.is_short_of_inodes:
        free += f", but {formatting.count(room.free_inodes, 'file')} (free inodes)"
    return f"disk almost full: {free}, room for {left}"


def _skipped(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return ""
    first = skipped[-1]
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return f"not taken for a checkpoint: {first.path.name}: {first.reason}{more}"
