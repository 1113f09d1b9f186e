"""Thinning a run's checkpoints: read what decides it, plan, unlink."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path

from trainer.rundir.checkpoints.checkpoint import Checkpoint, Inventory
from trainer.rundir.checkpoints.coverage import own_checkpoints
from trainer.rundir.checkpoints.pins import pinned_steps
from trainer.rundir.checkpoints.protected import protected_steps
from trainer.rundir.checkpoints.retention import Plan, notable_steps, plan_thinning
from trainer.rundir.config.settings import CheckpointSettings, Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import RECORDS_BYTES, reading
from trainer.rundir.records.all_audits import all_audits
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_lines import Record

_LONGEST_LINE_BYTES = 1 << 20
"""Of a record; a longer one, as a hole of zeros is, is looked at in pieces."""


def plan_of(
    run: RunDirectory,
    settings: Settings,
    nonfinite_steps: Iterable[int],
    *,
    keep: CheckpointSettings | None = None,
    written: int | None = None,
) -> Plan:
    """What may go now; `keep` in place of the run's own settings. Only the run's own may go.

    `written`: the step that the trainer which asks has just written: a file of a later one is not
    its own, whatever the history covers, and is not the newest.

    Raises `OSError`, or `HistoryError` where the history covers none of the checkpoints, or for
    audits or pins that can't be read.
    """
    n_params = None if settings.trainer.command else settings.model.n_params
    inventory = own_checkpoints(run, n_params)
    if inventory.uncovered and not inventory.checkpoints:
        why = inventory.why_uncovered
        raise HistoryError(f"{run.loss}: {why}; it covers no checkpoint, so all stay")
    checkpoints = [c for c in inventory.checkpoints if written is None or c.step <= written]
    plan = plan_from(
        checkpoints, all_audits(run), nonfinite_steps, protected_steps(run), settings, keep=keep
    )
    return replace(plan, skipped=inventory.skipped)


def plan_from(
    checkpoints: Sequence[Checkpoint],
    audits: Sequence[Record],
    nonfinite_steps: Iterable[int],
    protected: Mapping[int, str],
    settings: Settings,
    *,
    keep: CheckpointSettings | None = None,
) -> Plan:
    """The same from what was read: the run's own checkpoints by step, its audits; pure."""
    steps = [checkpoint.step for checkpoint in checkpoints]
    notable = notable_steps(
        steps,
        audits,
        nonfinite_steps,
        threshold=settings.audit.threshold,
        warmup_steps=settings.optimizer.warmup_steps,
    )
    stay = {**_newest_audited(steps, audits), **notable, **protected}
    return plan_thinning(checkpoints, keep or settings.checkpoint, stay)


def still_going(run: RunDirectory, plan: Plan, inventory: Inventory) -> tuple[Checkpoint, ...]:
    """What of an older plan may still go: not what is a base, pinned, the newest or a stray by now.

    `inventory`: the run's checkpoints now.
    """
    older = {checkpoint.step for checkpoint in inventory.checkpoints[:-1]}
    steps = older - protected_steps(run).keys()
    return tuple(checkpoint for checkpoint in plan.going if checkpoint.step in steps)


def _newest_audited(steps: Iterable[int], audits: Iterable[Record]) -> dict[int, str]:
    """What stays if the newest file turns out to be a stray one, of a step that is covered."""
    audited = {audit.get("step") for audit in audits}
    newest = max((step for step in steps if step in audited), default=None)
    return {} if newest is None else {newest: "the newest with an audit"}


def nonfinite_steps(records: Iterable[LossRecord]) -> list[int]:
    """Steps at which the run has stopped for a loss or gradient that was not finite."""
    return [
        record.step
        for record in records
        if record.nonfinite
        and {"loss", "grad_norm"} & record.nonfinite.keys()
        and record.step is not None
    ]


def nonfinite_steps_of(path: Path) -> list[int]:
    """The same of a loss history on file, however long: only lines that name a value are parsed.

    Raises `OSError`, or `HistoryError` for such a line that is no record.
    """
    records: list[LossRecord] = []
    try:
        with reading(path, at_most=RECORDS_BYTES, follows_links=False) as file:
            buffered = BufferedReader(file, _LONGEST_LINE_BYTES)
            lines = iter(partial(buffered.readline, _LONGEST_LINE_BYTES), b"")
            for number, line in enumerate(lines, start=1):
                if b'"nonfinite"' in line:
                    read = read_loss_records(b"[" + line.strip(b"[], \r\n") + b"]")
                    if read is None:
                        raise HistoryError(f"{path}: line {number:,} is no record")
                    records += read
    except FileNotFoundError:
        return []
    return nonfinite_steps(records)


def thin(run: RunDirectory, plan: Plan) -> Plan:
    """Unlink what goes, oldest first, but for what was pinned since; the plan as it was done.

    Raises `OSError` at the first that can't be, or `HistoryError` where pins can't be known. Only
    after the newest checkpoint is durable: the plan was made from what is on disk under its final
    name, which a save gives last but for the sync of the directory.
    """
    gone = []
    for checkpoint in plan.going:
        if checkpoint.step not in pinned_steps(run):
            checkpoint.path.unlink(missing_ok=True)
            gone.append(checkpoint)
    return replace(plan, going=tuple(gone))
