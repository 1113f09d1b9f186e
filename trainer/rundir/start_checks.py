"""Would a trainer start again? One answer for the one that starts and for whoever asks before.

Asking changes nothing. Who holds the lock is not asked: whoever starts takes it, and that tells.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from trainer.rundir.checkpoints.checkpoint import Inventory, checkpoint_bytes
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.checkpoints.coverage import (
    Steps,
    own_checkpoints,
    require_history,
    require_steps,
)
from trainer.rundir.config.continuity import (
    compare_digests,
    compare_settings,
    digests_of,
    is_of_phase_before,
    state_left_behind,
)
from trainer.rundir.config.run_toml import flat_settings, load_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.environment import Environment, recorded_environment, require_tokenizer
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import leftover_room
from trainer.rundir.names import shown
from trainer.rundir.outcomes import HistoryError, RunError, SaveError, SettingsError
from trainer.rundir.pivot.journal import refuse_if_half_done
from trainer.rundir.reading import TOKENIZER_BYTES, strangers_in
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.records.record_file import load_records
from trainer.rundir.sources.documents import look_at_files, naming
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.prepared import holds_prepared_text, is_gone
from trainer.rundir.state import State
from trainer.rundir.vocabulary import read_own_tokenizer

_FILES_A_SAVE = 2
"""The checkpoint, and a sidecar that is written anew beside itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStart:
    """What a start would come upon."""

    refusals: tuple[RunError, ...] = ()
    """Each reason to refuse, with its exit code, in the order in which they are found."""
    notes: tuple[str, ...] = ()
    """What it would only tell."""


def require_untouched(run: RunDirectory) -> None:
    """Raise `HistoryError` or `SettingsError` where a trainer may not even write its state."""
    if strangers := strangers_in(run):
        raise HistoryError(f"{run.path}: {'; '.join(strangers)}; nothing was changed")
    refuse_if_half_done(run)


def look_ahead(
    run: RunDirectory,
    *,
    inventory: Inventory | None = None,
    steps: Steps | None = None,
    is_foreign: bool = False,
    reads_text: bool = True,
    check: Callable[[], None] = never,
) -> NextStart:
    """What a start would refuse and tell, as far as that is known without torch.

    `inventory` and `steps`: the checkpoints, and the history's ascending steps, where the caller
    has read them; a start reads the whole history later. `is_foreign`: another engine is started;
    only what the console refuses is asked. `reads_text`: else what only a source's text would
    tell is taken to be alike. `check` is called meanwhile and may raise to give up.
    """
    refusals = _refused(run, partial(require_untouched, run))
    try:
        settings = load_settings(run.settings)
    except SettingsError as error:
        return NextStart(refusals=(*refusals, error))
    if is_foreign or settings.trainer.command or any(strangers_in(run)):
        return NextStart(refusals=tuple(refusals))
    try:
        listed = inventory or own_checkpoints(run, settings.model.n_params)
    except OSError as error:
        return NextStart(refusals=(*refusals, unreadable(run, error)))
    before = state_left_behind(run)
    known = recorded_environment(run, before)
    notes: list[str] = []
    for ask in (
        lambda: notes.extend(_changes(run, settings, before, known, reads_text, check)),
        lambda: require_history(run, listed),
        lambda: _require_steps(run, listed, steps),
        lambda: notes.extend(_missing_audits(run, before, listed)),
        lambda: _require_room(run, settings, listed),
        lambda: notes.extend(_missing_tokenizer(run, settings, known)),
        lambda: _require_sources(run, settings, check),
    ):
        refusals += _refused(run, ask)
    return NextStart(refusals=tuple(refusals), notes=tuple(notes))


def _refused(run: RunDirectory, ask: Callable[[], object]) -> list[RunError]:
    try:
        ask()
    except RunError as error:
        return [error]
    except OSError as error:
        return [unreadable(run, error)]
    return []


def unreadable(run: RunDirectory, error: OSError) -> SaveError:
    """What a start ends with whose disk fails."""
    what = f"{shown(error.filename or run.path)}: {error.strerror}"
    return SaveError(f"{what}: mend the disk, then start again; nothing was trained")


def _changes(
    run: RunDirectory,
    settings: Settings,
    before: State | None,
    known: Environment,
    reads_text: bool,
    check: Callable[[], None],
) -> list[str]:
    """What is another than at the last start, in words; `SettingsError` where it alters the run."""
    now = flat_settings(settings)
    if before is not None and before.settings:
        return compare_settings(
            before.settings,
            now,
            is_pivoted=is_of_phase_before(run, before),
            is_same_text=lambda name: holds_prepared_text(
                run, settings, name, text=known.texts.get(name, ""), reads=reads_text, check=check
            ),
        )
    compare_digests(known.settings, digests_of(now))
    if not run.loss.exists():
        return []
    how = "be compared with the newest audit's only" if known.settings else "not be compared"
    return [f"no {run.state.name} of an earlier start: the settings could {how}"]


def _require_steps(run: RunDirectory, listed: Inventory, steps: Steps | None) -> None:
    if listed.newest and steps is not None:
        require_steps(run.loss, steps, listed.newest.step, listed.checkpoints)


def _missing_audits(run: RunDirectory, before: State | None, listed: Inventory) -> list[str]:
    """Raise `HistoryError` for audits that can't be read; those that are gone are only told."""
    begins = before.phase_start_step if before and before.phase == run.current_phase() else 0
    here = [found for found in listed.checkpoints if found.step > begins]
    if load_records(run.samples).records or not here or (run.current_phase() > 1 and not begins):
        return []
    lost = "is empty" if run.samples.exists() else "is gone"
    return [f"{run.samples.name} {lost}: the audits of this phase's checkpoints are lost"]


def _require_room(run: RunDirectory, settings: Settings, listed: Inventory) -> None:
    """Raise `SaveError` where not even one checkpoint would fit, by bytes or by files."""
    if listed.newest and listed.newest.step >= settings.train.total_steps:
        return
    disk = os.statvfs(run.path)
    left_bytes, left_files = leftover_room(run)
    _require_bytes(run, settings, disk.f_bavail * disk.f_frsize + left_bytes)
    if disk.f_files:  # else inodes are made as they are needed
        _require_inodes(run, disk.f_favail + left_files)


def _require_bytes(run: RunDirectory, settings: Settings, n_free: int) -> None:
    n_needed = checkpoint_bytes(settings.model.n_params)
    if n_free < n_needed:
        raise SaveError(
            f"{run.path}: {n_free:,} bytes are free, a checkpoint takes {n_needed:,}:"
            " make room (andrea-console thin), then start again; nothing was changed"
        )


def _require_inodes(run: RunDirectory, n_free: int) -> None:
    own = (run.loss, run.samples, run.state)
    n_needed = _FILES_A_SAVE + sum(not os.path.lexists(path) for path in own)
    if n_free < n_needed:
        raise SaveError(
            f"{run.path}: free inodes: {n_free:,}, needed: {n_needed}, one for each file: delete"
            " files on that file system, of whatever size, then start again; nothing was changed"
        )


def _missing_tokenizer(run: RunDirectory, settings: Settings, known: Environment) -> list[str]:
    """Raise `SettingsError` for another tokenizer; one that is gone may be made again."""
    if not run.tokenizer.exists():
        if settings.tokenizer.path:
            rows = settings.model.vocab_size
            read_own_tokenizer(settings.tokenizer, run.path, vocab_size=rows)
        if not known.tokenizer:
            return []
        again = "the next start makes it again, if the sources still give the same"
        return [f"{run.tokenizer.name} is gone: {again}"]
    sha256 = digest_of(run.tokenizer, at_most=TOKENIZER_BYTES)
    require_tokenizer(run.tokenizer, sha256, known.tokenizer)
    return []


def _require_sources(run: RunDirectory, settings: Settings, check: Callable[[], None]) -> None:
    """Raise `SourceError` where neither text nor tokens are there, and training can't go without.

    In a phase that has begun a source may be gone, as long as there is another.
    """
    gone = [name for name, source in settings.sources.items() if is_gone(run, name, source, check)]
    last = last_record(run.loss) or {}
    is_begun = last.get("phase") == run.current_phase()
    if gone and (len(gone) == len(settings.sources) or not is_begun):
        with naming(gone[0]):
            look_at_files(settings.sources[gone[0]], run.path, check)
