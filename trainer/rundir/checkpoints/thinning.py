"""Thinning a run's checkpoints: read what decides it, plan, unlink."""

from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.protected import protected_steps
from trainer.rundir.checkpoints.retention import Plan, notable_steps, plan_thinning
from trainer.rundir.config.settings import CheckpointSettings, Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import reading
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_file import load_records
from trainer.rundir.records.record_lines import Record


def plan_of(
    run: RunDirectory,
    settings: Settings,
    nonfinite_steps: Iterable[int],
    *,
    keep: CheckpointSettings | None = None,
) -> Plan:
    """What may go now; `keep` in place of the run's own settings.

    Raises `OSError`, or `HistoryError` for audits that can't be read.
    """
    n_params = None if settings.trainer.command else settings.model.n_params
    checkpoints = list_checkpoints(run.path, n_params).checkpoints
    notable = notable_steps(
        [checkpoint.step for checkpoint in checkpoints],
        all_audits(run),
        nonfinite_steps,
        threshold=settings.audit.threshold,
        warmup_steps=settings.optimizer.warmup_steps,
    )
    protected = {**notable, **protected_steps(run)}
    return plan_thinning(checkpoints, keep or settings.checkpoint, protected)


def all_audits(run: RunDirectory) -> list[Record]:
    """The audits of all phases, oldest phase first; raises `OSError` or `HistoryError`."""
    folders = [folder for _, folder in run.archived_phases()]
    paths = [folder / run.samples.name for folder in folders] + [run.samples]
    return [record for path in paths for record in load_records(path).records]


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
        with reading(path, follows_links=False) as file:
            for number, line in enumerate(BufferedReader(file), start=1):
                if b'"nonfinite"' in line:
                    read = read_loss_records(b"[" + line.strip(b"[], \r\n") + b"]")
                    if read is None:
                        raise HistoryError(f"{path}: line {number:,} is no record")
                    records += read
    except FileNotFoundError:
        return []
    return nonfinite_steps(records)


def thin(plan: Plan) -> int:
    """Unlink what goes, oldest first; the bytes freed. Raises `OSError` at the first that can't be.

    Only after the newest checkpoint is durable: the plan was made from what is on disk under its
    final name, which a save gives last but for the sync of the directory.
    """
    for checkpoint in plan.going:
        checkpoint.path.unlink(missing_ok=True)
    return plan.freed_bytes
