"""The checkpoints that no retention may thin: what pivots and forks stand on, and the pinned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.checkpoints.pins import pinned_steps
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import read_file


def protected_steps(run: RunDirectory) -> dict[int, str]:
    """Step → why it stays; a journal or `fork.json` that can't be read protects nothing.

    Forks are siblings that name this run in their `fork.json`: the parent itself holds no list,
    for making a fork changes no byte of it. To be asked anew before each thinning. Raises
    `HistoryError` where the pins can't be known.
    """
    bases = {step: why for step, why in _bases(run) if type(step) is int}
    return bases | dict.fromkeys(pinned_steps(run), "pinned")


def _bases(run: RunDirectory) -> Iterator[tuple[Any, str]]:
    journals = [folder / run.pivot.name for _, folder in run.archived_phases()]
    for path in (*journals, run.pivot):
        held = _read(path).get("held")
        yield held.get("step") if isinstance(held, dict) else None, "a pivot's base"
    yield _read(run.fork).get("step"), "the fork's base"
    for path, written in forks_of(run):
        yield written.get("step"), f"the base of the fork {path.parent.name}"


def forks_of(run: RunDirectory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The `fork.json` of each fork that lies beside its parent, and what is written there."""
    for path in run.path.resolve().parent.glob(f"*/{run.fork.name}"):
        written = _read(path)
        if written.get("parent") == run.name:
            yield path, written


def _read(path: Path) -> dict[str, Any]:
    try:
        written = orjson.loads(read_file(path))
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}
