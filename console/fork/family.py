"""A run among its kin: the runs that it came from, its pivots and its forks, as a tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from console import formatting
from trainer.rundir.checkpoints.protected import forks_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import read_file
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.records.record_fields import step_of, words

_DEEPEST = 20
"""Generations that are shown; more is a circle, or nobody's screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """A line of the tree: a run, or a pivot of the one that is shown."""

    lead: str
    """The branches of the tree before it."""
    step: int | None
    """Of the run above it: where it branched off, or was pivoted."""
    text: str
    """Foreign text."""
    is_this: bool = False
    """Whether it is the run that is shown."""
    is_on_it: bool = False
    """Whether `step` is one of the run that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    step: int | None
    text: str
    children: tuple["_Node", ...] = ()
    is_this: bool = False
    is_on_it: bool = False


def family_of(run: RunDirectory) -> tuple[Kin, ...]:
    """The tree from the oldest known run on; what can't be read is left out."""
    pivots = [_pivot(step, phase, note) for step, phase, note in _pivots(run)]
    children = sorted([*pivots, *_forks(run, 0)], key=lambda node: node.step or 0)
    node = _Node(step=None, text=_described(run, {}), children=tuple(children), is_this=True)
    for base in _lineage(_object(run.fork)):
        at = replace(node, step=step_of(base), is_on_it=node.is_this)
        node = _Node(step=None, text=words(base, "parent") or "another run", children=(at,))
    return tuple(_lines(node, "", ""))


def _lines(node: _Node, lead: str, below: str) -> Iterator[Kin]:
    yield Kin(
        lead=lead, step=node.step, text=node.text, is_this=node.is_this, is_on_it=node.is_on_it
    )
    for number, child in enumerate(node.children, start=1):
        is_last = number == len(node.children)
        branch, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _lines(child, below + branch, below + rest)


def _lineage(written: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The bases from this run's on, each with the name of the run that it is a checkpoint of."""
    lineage = written.get("lineage")
    listed = lineage if isinstance(lineage, list) else []
    bases: list[Mapping[str, Any]] = [base for base in listed if isinstance(base, dict)]
    if not bases and words(written, "parent"):
        bases.append(written)
    return bases[:_DEEPEST]


def _pivots(run: RunDirectory) -> Iterator[tuple[int, int, str]]:
    """Step, the phase that began after it, and the note, of each pivot that is through."""
    for phase, folder in run.archived_phases():
        journal = _object(folder / run.pivot.name)
        held = journal.get("held")
        step = step_of(held) if isinstance(held, dict) else _last_step(folder / run.samples.name)
        if step is not None:
            yield step, phase + 1, words(journal, "note")


def _pivot(step: int, phase: int, note: str) -> _Node:
    told = f": {note}" if note else ""
    return _Node(step=step, text=f"pivot, phase {phase}{told}", is_on_it=True)


def _forks(run: RunDirectory, depth: int) -> list[_Node]:
    found = []
    for path, written in forks_of(run) if depth < _DEEPEST else ():
        if path.parent.name.startswith("."):  # one that is still being made
            continue
        fork = RunDirectory(path.parent)
        step = step_of(written)
        grown = tuple(sorted(_forks(fork, depth + 1), key=lambda node: node.step or 0))
        found.append(
            _Node(step=step, text=_described(fork, written), children=grown, is_on_it=depth == 0)
        )
    return found


def _described(run: RunDirectory, written: Mapping[str, Any]) -> str:
    """Its name, what it changed, and how far it is."""
    settings = written.get("settings")
    changes = settings.items() if isinstance(settings, dict) else ()
    changed = ", ".join(f"{name} {value}" for name, value in changes)
    told = f": {changed}" if changed else ""
    return f"{run.name}{told}, at step {formatting.steps(_last_step(run.loss))}"


def _last_step(records: Path) -> int | None:
    try:
        return step_of(last_record(records) or {})
    except OSError:
        return None


def _object(path: Path) -> Mapping[str, Any]:
    try:
        written = orjson.loads(read_file(path))
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}
