"""What wants the operator's attention, each in one line; pure."""

from collections.abc import Sequence

from console import formatting
from console.view.run_view import Audit, LossPoint
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.config.settings import Settings
from trainer.rundir.state import State

FEW_CHECKPOINTS = 3
"""Room for fewer more than this is an alarm."""
_LOW_AUDITS = 2


def alarms_of(
    *,
    state: State | None,
    settings: Settings | None,
    last: LossPoint | None,
    audits: Sequence[Audit],
    free_bytes: int | None,
    checkpoint_bytes: int | None,
    skipped: Sequence[Skipped],
    strangers: Sequence[str] = (),
) -> tuple[str, ...]:
    """The trainer's own alarms, then the console's; `audits` are this phase's by step,
    `strangers` what stands in the place of the run's files.
    """
    found = [
        *_told(state),
        *strangers,
        _nonfinite(last),
        _gate(settings, audits),
        _disk(free_bytes, checkpoint_bytes),
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


def _gate(settings: Settings | None, audits: Sequence[Audit]) -> str:
    """Audits under the threshold in a row, before they are enough to halt the run."""
    if settings is None or not settings.audit.patience:
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
        f"coherence gate: {n_low} of {gate.patience} audits in a row under {gate.threshold:g};"
        f" the run halts at {gate.patience}"
    )


def _disk(free_bytes: int | None, checkpoint_bytes: int | None) -> str:
    if free_bytes is None or not checkpoint_bytes:
        return ""
    n_fit = free_bytes // checkpoint_bytes
    if n_fit >= FEW_CHECKPOINTS:
        return ""
    room = "no checkpoint more" if not n_fit else f"{n_fit} more checkpoint{'s'[: n_fit - 1]}"
    return f"disk almost full: {formatting.size(free_bytes)} free, room for {room}"


def _skipped(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return ""
    first = skipped[-1]
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return f"not taken for a checkpoint: {first.path.name}: {first.reason}{more}"
