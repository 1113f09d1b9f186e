"""`pivot.json`: the journal of a pivot under way, and what it tells a trainer."""

import getpass
import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.atomic import create_exclusively, write_atomic
from trainer.rundir.config.policy_change import require_policy_only
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted
from trainer.rundir.outcomes import HistoryError, SettingsError
from trainer.rundir.reading import read_file
from trainer.rundir.records.record_file import Record
from trainer.rundir.state import strict


class Stage(StrEnum):
    """What is done for good; the next stage's file operations may have been begun."""

    REQUESTED = "requested"
    """The trainer goes on to the boundary, checkpoints, audits and exits with 10."""
    HELD = "held"
    """No trainer runs; the boundary's checkpoint is whole."""
    ARCHIVED = "archived"
    """`archive/phase_NNN/` is whole; the sidecars of the phase are gone from the run."""
    COMMITTED = "committed"
    """`run.toml` is the new one."""
    RESTARTED = "restarted"
    """A trainer may start, and does: in the new phase."""


STAGES = tuple(Stage)
HALF_DONE = frozenset({Stage.HELD, Stage.ARCHIVED, Stage.COMMITTED})
"""Stages in which no trainer may start: the run is between two phases."""


class HoldMode(StrEnum):
    """Where the phase ends."""

    BOUNDARY = "boundary"
    """At the next step that is a multiple of `checkpoint.every`."""
    NOW = "now"
    """After the step under way; of a stopped run, at its newest checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The boundary: what the new phase resumes from."""

    step: int
    checkpoint: str
    """File name."""
    bytes: int
    sha256: str = ""
    """As the checkpoint's audit has it; empty if there is none."""
    score: float | None = None
    val_loss: float | None = None
    last_record: Record | None = None
    """The newest loss record; a newer one is of the new phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pivot:
    """Everything in `pivot.json`."""

    phase: int
    """The phase that ends."""
    stage: Stage
    mode: HoldMode
    note: str
    """Why, in the operator's words."""
    user: str
    host: str
    requested_step: int
    """The step that the run was at."""
    old_sha256: str
    """Of `run.toml` as it was."""
    new_settings: str
    """The text of `run.toml` as it will be."""
    times: Mapping[str, float] = field(default_factory=dict)
    """Wall clock, seconds, at which each stage was reached."""
    held: Held | None = None
    archived: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each file in the archive."""
    first_record: Record | None = None
    """The first loss record of the new phase."""

    @property
    def new_sha256(self) -> str:
        return sha256_of(self.new_settings.encode())

    def at(self, stage: Stage, t: float, **facts: Any) -> "Pivot":
        """The journal once `stage` is reached."""
        return replace(self, stage=stage, times={**self.times, stage.value: t}, **facts)


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def next_boundary(step: int, every: int) -> int:
    """The first multiple of `every` after `step`."""
    return (step // every + 1) * every


def request_pivot(
    run: RunDirectory, new_settings: str, *, mode: HoldMode, note: str, step: int, t: float
) -> Pivot:
    """Write the journal of a new pivot; nothing else is changed.

    Raises:
        SettingsError: one is under way, or `new_settings` is wrong or changes more than sources
            and policy.
    """
    old = read_file(run.settings)
    require_policy_only(parse_settings(old.decode()), parse_settings(new_settings))
    if old.decode() == new_settings:
        raise SettingsError(f"{run.settings}: the new policy is the old one; nothing to pivot")
    pivot = Pivot(
        phase=run.current_phase(),
        stage=Stage.REQUESTED,
        mode=mode,
        note=note,
        user=_user(),
        host=socket.gethostname(),
        requested_step=step,
        old_sha256=sha256_of(old),
        new_settings=new_settings,
        times={Stage.REQUESTED.value: t},
    )
    try:
        create_exclusively(run.pivot, _encode(pivot))
    except FileExistsError:
        raise SettingsError(f"{run.pivot}: a pivot is under way; {how_to_go_on(run)}") from None
    return pivot


def write_pivot(run: RunDirectory, pivot: Pivot) -> Pivot:
    """Replace the journal, durably. Raises `OSError`."""
    write_atomic(run.pivot, _encode(pivot))
    return pivot


def read_pivot(path: Path) -> Pivot | None:
    """The journal at `path`; None if there is none. Raises `HistoryError` if it is no journal."""
    try:
        written = orjson.loads(read_file(path))
    except FileNotFoundError:
        return None
    except orjson.JSONDecodeError as error:
        raise HistoryError(f"{path}: not a pivot's journal: {error}") from error
    try:
        written["stage"], written["mode"] = Stage(written["stage"]), HoldMode(written["mode"])
        if written["held"] is not None:
            written["held"] = strict(Held, written["held"])
        pivot = strict(Pivot, written)
        if pivot.held is None and pivot.stage is not Stage.REQUESTED:
            raise ValueError(f"{pivot.stage} without its facts")
        _encode(pivot)  # each later stage writes it anew
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise HistoryError(f"{path}: not a pivot's journal: {error}") from error
    return pivot


def hold_wanted(run: RunDirectory) -> HoldMode | None:
    """For the trainer, between steps: whether and where a pivot wants the run held."""
    try:
        pivot = read_pivot(run.pivot)
    except (OSError, HistoryError):
        return None
    return pivot.mode if pivot is not None and pivot.stage is Stage.REQUESTED else None


def refuse_if_half_done(run: RunDirectory) -> None:
    """Raise `SettingsError` where a pivot stands between two phases: no trainer may start.

    To be asked with the trainer's lock held: a pivot moves files under that lock only.
    """
    pivot = read_pivot(run.pivot)
    if pivot is not None and pivot.stage in HALF_DONE:
        raise SettingsError(
            f"{run.path}: a pivot is half done ({pivot.stage}); {how_to_go_on(run)}"
        )


def how_to_go_on(run: RunDirectory) -> str:
    """What to type about a pivot that is under way."""
    verb = f"andrea-console pivot {quoted(run.path)}"
    return f"`{verb} --continue` goes on with it, `{verb} --roll-back` takes it back"


def _encode(pivot: Pivot) -> bytes:
    return orjson.dumps(asdict(pivot), option=orjson.OPT_INDENT_2) + b"\n"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
