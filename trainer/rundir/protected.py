"""The checkpoints that no retention may thin: what pivots and forks stand on."""

from collections.abc import Iterator
from pathlib import Path

import orjson

from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.pivot import read_pivot


def protected_steps(run: RunDirectory) -> set[int]:
    """Steps of the boundaries of all pivots, of this fork's base, and of the bases of its forks.

    Forks are siblings that name this run in their `fork.json`; the parent itself holds no list,
    for making a fork changes no byte of it. To be asked anew before each thinning.
    """
    return {*_boundaries(run), *_own_base(run), *_bases_of_forks(run)}


def _boundaries(run: RunDirectory) -> Iterator[int]:
    archived = [folder / run.pivot.name for _, folder in run.archived_phases()]
    for path in (*archived, run.pivot):
        try:
            pivot = read_pivot(path)
        except HistoryError:
            continue
        if pivot is not None and pivot.held is not None:
            yield pivot.held.step


def _own_base(run: RunDirectory) -> Iterator[int]:
    parent_and_step = _fork_of(run.fork)
    if parent_and_step is not None:
        yield parent_and_step[1]


def _bases_of_forks(run: RunDirectory) -> Iterator[int]:
    for fork in run.path.resolve().parent.glob(f"*/{run.fork.name}"):
        parent_and_step = _fork_of(fork)
        if parent_and_step is not None and parent_and_step[0] == run.name:
            yield parent_and_step[1]


def _fork_of(path: Path) -> tuple[str, int] | None:
    """The name of the parent and the step of its checkpoint; None where that isn't told."""
    try:
        written = orjson.loads(path.read_bytes())
        return str(written["parent"]), int(written["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
