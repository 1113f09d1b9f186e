"""The runs that may be laid over a run's chart: its kin first, then what lies beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from console import formatting
from trainer.rundir.checkpoints.protected import forks_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import read_file
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.records.record_fields import step_of, words

_MOST = 200
"""Runs that are listed: of others the ones that were written to last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A run that may be laid over."""

    path: Path
    name: str
    """Foreign text."""
    kin: str
    """What it is to the run; empty: nothing but a neighbour."""
    step: int | None
    """Of its newest record."""

    @property
    def words(self) -> str:
        """Kinship and how far it is."""
        at = f"to step {formatting.steps(self.step)}"
        return ", ".join(part for part in (self.kin, at) if part)


def runs_beside(run: RunDirectory) -> tuple[Beside, ...]:
    """Forks, the parent, its other forks, then other runs by age; raises `OSError`."""
    found: dict[Path, str] = {run.path.resolve(): "itself"}
    for path, kin in (*_kin(run), *((path, "") for path in _neighbours(run))):
        if not path.name.startswith(".") and len(found) <= _MOST:  # a hidden one is being made
            found.setdefault(path.resolve(), kin)
    return tuple(_beside(path, kin) for path, kin in list(found.items())[1:])


def _kin(run: RunDirectory) -> Iterator[tuple[Path, str]]:
    for path, written in sorted(forks_of(run), key=lambda each: each[0]):
        yield path.parent, f"fork at step {formatting.steps(step_of(written))}"
    parent = words(_written(run.fork), "parent")
    if not parent or "/" in parent:
        return
    above = RunDirectory(run.path.resolve().parent / parent)
    if above.loss.exists():
        yield above.path, "its parent"
    for path, written in sorted(forks_of(above), key=lambda each: each[0]):
        yield path.parent, f"fork of {parent} at step {formatting.steps(step_of(written))}"


def _neighbours(run: RunDirectory) -> list[Path]:
    """Those with a history, the one that was written to last first."""
    found = []
    for path in run.path.resolve().parent.glob(f"*/{run.loss.name}"):
        try:
            found.append((path.stat().st_mtime, path.parent))
        except OSError:  # gone meanwhile
            continue
    return [path for _, path in sorted(found, reverse=True)]


def _beside(path: Path, kin: str) -> Beside:
    run = RunDirectory(path)
    try:
        step = step_of(last_record(run.loss) or {})
    except OSError:
        step = None
    return Beside(path=path, name=run.name, kin=kin, step=step)


def _written(path: Path) -> dict[str, Any]:
    try:
        written = orjson.loads(read_file(path))
    except (OSError, orjson.JSONDecodeError):
        return {}
    return written if isinstance(written, dict) else {}
