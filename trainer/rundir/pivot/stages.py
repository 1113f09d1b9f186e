"""The stages of a pivot on files: each can be repeated, and taken back, from wherever it broke.

Two rules make a kill at any moment harmless. Going forward, a stage's files are durable before
the journal says so. Going back, the files of the later stages are as they were before the
journal says so. So the journal's stage is always true, and what was begun beyond it is simply
done, or undone, again.

All but `finish` are to be called with the trainer's lock held.
"""

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path

from trainer.rundir.atomic import sync_directory, sync_file, write_atomic
from trainer.rundir.checkpoints.checkpoint import Checkpoint
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.pivot.journal import (
    Held,
    Pivot,
    Stage,
    how_to_go_on,
    sha256_of,
    write_pivot,
)
from trainer.rundir.reading import RECORDS_BYTES, read_file
from trainer.rundir.records.newest_records import last_record, tail_records
from trainer.rundir.records.record_file import Record, load_records


def sidecars(run: RunDirectory) -> tuple[Path, ...]:
    """What belongs to a phase and is archived with it. `.loss.json` is never among them."""
    return run.samples, run.state


def hold(run: RunDirectory, pivot: Pivot, newest: Checkpoint, t: float) -> Pivot:
    """Take `newest` as the boundary."""
    if run.loss.exists():
        # Its last record marks where the new phase begins. One that a power cut takes back would
        # let a record of the old phase pass for the new one's.
        sync_file(run.loss)
    audit = _audit_of(run, newest)
    held = Held(
        step=newest.step,
        checkpoint=newest.path.name,
        bytes=newest.n_bytes,
        sha256=audit.get("sha256", ""),
        score=audit.get("score"),
        val_loss=audit.get("val_loss"),
        last_record=last_record(run.loss),
    )
    return write_pivot(run, pivot.at(Stage.HELD, t, held=held))


def archive(run: RunDirectory, pivot: Pivot, t: float) -> Pivot:
    """Move the phase's sidecars, and a copy of `run.toml`, into `archive/phase_NNN/`.

    Raises `HistoryError` if somebody changed `run.toml` since the request.
    """
    sync_directory(run.path)  # the journal that was read may be of a process killed before that
    folder = run.phase_archive(pivot.phase)
    if not folder.exists():
        if sha256_of(read_file(run.settings)) != pivot.old_sha256:
            raise HistoryError(
                f"{run.settings}: was changed since the pivot was requested, and the change would"
                f" be lost; put it back, or take the pivot back and request it anew:"
                f" {how_to_go_on(run)}"
            )
        _make_archive(run, folder)
    # Also a name that was found: it may be of a killed process that hadn't synced it yet.
    sync_directory(run.archive)
    sync_directory(run.path)
    # Only now: until the folder had its name, these were the only copies.
    for path in sidecars(run):
        path.unlink(missing_ok=True)
    sync_directory(run.path)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    return write_pivot(run, pivot.at(Stage.ARCHIVED, t, archived=sizes))


def commit(run: RunDirectory, pivot: Pivot, t: float) -> Pivot:
    """Put the new settings in place; `HistoryError` if somebody changed `run.toml` meanwhile."""
    present = sha256_of(read_file(run.settings))
    if present not in (pivot.old_sha256, pivot.new_sha256):
        raise HistoryError(
            f"{run.settings}: was changed since the pivot was requested; put it back as it is in"
            f" {run.phase_archive(pivot.phase)}, then {how_to_go_on(run)}"
        )
    sync_directory(run.path)  # the journal that was read may be of a process killed before that
    write_atomic(run.settings, pivot.new_settings.encode())
    return write_pivot(run, pivot.at(Stage.COMMITTED, t))


def restart(run: RunDirectory, pivot: Pivot, t: float) -> Pivot:
    """Let a trainer start in the new phase: written before it does, for it asks the journal."""
    return write_pivot(run, pivot.at(Stage.RESTARTED, t))


def first_record(run: RunDirectory, pivot: Pivot) -> Record | None:
    """The first loss record of the new phase; None if that has none yet."""
    records = tail_records(run.loss)
    before = pivot.held.last_record if pivot.held is not None else None
    if before is not None and before not in records:  # the phase is longer than the tail
        records = load_records(run.loss).records
    if before in records:
        records = records[records.index(before) + 1 :]
    return records[0] if records else None


def finish(run: RunDirectory, pivot: Pivot, first: Record, t: float) -> Pivot:
    """Put the journal beside what it archived: the pivot is over. The trainer may run."""
    done = replace(pivot, first_record=first, times={**pivot.times, "finished": t})
    retire(run, done)
    return done


def retire(run: RunDirectory, pivot: Pivot) -> None:
    """Put the journal beside what it archived."""
    write_pivot(run, pivot)
    folder = run.phase_archive(pivot.phase)
    run.pivot.rename(folder / run.pivot.name)
    sync_directory(folder)
    sync_directory(run.path)


def roll_back(run: RunDirectory, pivot: Pivot, t: float) -> None:
    """Put back settings and sidecars, byte for byte, and forget the pivot.

    Raises `HistoryError` once the new phase has a step: then it can't be taken back.
    """
    if pivot.stage is Stage.RESTARTED and first_record(run, pivot) is not None:
        raise HistoryError(
            f"{run.path}: the new phase has trained a step already, so the pivot can't be taken"
            " back; continue it, and make another one that changes the policy back"
        )
    sync_directory(run.path)  # the journal that was read may be of a process killed before that
    folder = run.phase_archive(pivot.phase)
    if pivot.stage in (Stage.RESTARTED, Stage.COMMITTED):
        pivot = write_pivot(run, pivot.at(Stage.ARCHIVED, t))
    if pivot.stage is Stage.ARCHIVED:
        write_atomic(run.settings, read_file(folder / run.settings.name))
        pivot = write_pivot(run, pivot.at(Stage.HELD, t))
    if pivot.stage is Stage.HELD:
        _unmake_archive(run, folder)
    run.pivot.unlink()
    sync_directory(run.path)


def _make_archive(run: RunDirectory, folder: Path) -> None:
    """Copies under a name that nobody takes for an archive, which gets its own when whole."""
    staging = _staging(folder)
    if staging.exists():
        _remove_durably_unnamed(staging)
    staging.mkdir(parents=True)
    for path in (*sidecars(run), run.settings):
        if path.exists():
            write_atomic(staging / path.name, read_file(path, at_most=RECORDS_BYTES))
    staging.rename(folder)


def _unmake_archive(run: RunDirectory, folder: Path) -> None:
    """The sidecars are back and durable before the archive loses its name."""
    staging = _staging(folder)
    if folder.exists():
        for path in sidecars(run):
            _restore(folder / path.name, path)
        sync_directory(run.path)
        if staging.exists():
            _remove_durably_unnamed(staging)
        folder.rename(staging)
    if staging.exists():
        _remove_durably_unnamed(staging)
    if run.archive.exists():
        sync_directory(run.archive)  # without its journal, nothing would clear the folder away
    with contextlib.suppress(OSError):  # other phases are in it, or it was never made
        run.archive.rmdir()


def _remove_durably_unnamed(staging: Path) -> None:
    """Remove the folder once it is sure that it no longer has an archive's name.

    Whoever renamed it may have been killed before the sync: after a power cut the archive would
    be there under its name, with files missing.
    """
    sync_directory(staging.parent)
    shutil.rmtree(staging)


def _restore(archived: Path, path: Path) -> None:
    """As it was before the pivot, also if it wasn't there and a start of the new phase made it."""
    if archived.exists():
        write_atomic(path, read_file(archived, at_most=RECORDS_BYTES))
    else:
        path.unlink(missing_ok=True)


def _staging(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.partial")


def _audit_of(run: RunDirectory, checkpoint: Checkpoint) -> Record:
    """The checkpoint's audit, in this phase or (no step since the last pivot) the one before."""
    folders = [folder for _, folder in run.archived_phases()[-1:]]
    for folder in (run.path, *folders):
        for record in reversed(load_records(folder / run.samples.name).records):
            if record.get("checkpoint") == checkpoint.path.name:
                return record
    return {}
