"""Two branches of a run from one checkpoint: what is typed of them, made and trained."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from console import formatting
from console.fork.branch_rows import BranchRow, branch_rows
from console.fork.family import Kin, family_of
from console.fork.grown import Grown
from console.fork.memory_need import MemoryNeed, memory_needs
from console.operations.operations import Operations
from console.operations.protocol import Outcome
from console.process.child import in_child
from console.process.launch import LaunchedTrainer, exit_words, launch_trainer, run_console
from trainer.rundir.actions import log_action
from trainer.rundir.config.policy_change import Bounds, PolicyChange
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.records.newest_records import last_record

POLL_SECONDS = 0.2


class Order(StrEnum):
    """How the branches are trained."""

    IN_TURN = "one after the other"
    AT_ONCE = "both at once"
    NOT = "not trained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A fork to be made."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    change: PolicyChange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that the fork screen asks for."""

    step: int
    branches: tuple[Branch, ...]
    steps: int
    """How many each branch trains."""
    order: Order


def branch_of(name: str, changes: str, *, note: str) -> Branch:
    """A branch from what was typed: `optimizer.lr=1e-4 policy.books.cap=0.5`.

    Raises `SettingsError` that names the word that is wrong.
    """
    if not name:
        raise SettingsError("give the branch a name: it becomes a run beside this one")
    given: set[str] = set()
    settings: dict[str, str] = {}
    bounds: dict[str, Bounds] = {}
    for word in changes.split():
        key, _, value = word.partition("=")
        if not (key and value):
            raise SettingsError(f"{word}: write KEY=VALUE, as optimizer.lr=1e-4")
        if key in given:
            raise SettingsError(f"{word}: {key} is given twice")
        given.add(key)
        section, _, rest = key.partition(".")
        if section == "policy":
            arm, bound = _policy(rest, value, word)
            bounds[arm] = replace(bounds.get(arm, Bounds()), **bound)
        else:
            settings[key] = value
    change = PolicyChange(bounds=bounds, note=note) if bounds else None
    return Branch(name=name, settings=settings, change=change)


def _policy(rest: str, value: str, word: str) -> tuple[str, dict[str, float]]:
    arm, _, key = rest.rpartition(".")
    if not arm or key not in ("floor", "cap"):
        raise SettingsError(f"{word}: write policy.ARM.floor=0.1 or policy.ARM.cap=0.5")
    try:
        return arm, {key: float(value)}
    except ValueError:
        raise SettingsError(f"{word}: {value} is no number") from None


class Branches:
    """Makes branches of a run and trains them with trainers of their own; each call may block."""

    def __init__(self, run: RunDirectory, operations: Operations | None = None) -> None:
        """`operations` know whether the directory that was opened is still the one of that name."""
        self.run = run
        self._operations = operations or Operations(run, read_only=True)

    def rows(self, grown: Sequence[Grown]) -> tuple[BranchRow, ...]:
        """The run and all its branches, with those being `grown`; raises `OSError`."""
        self._require_there()
        return branch_rows(self.run, grown)

    def family(self) -> tuple[Kin, ...]:
        """The runs that it came from, its pivots and forks."""
        return family_of(self.run)

    def memory_needs(self) -> tuple[MemoryNeed, ...]:
        """What a branch's trainer needs of the memory; raises `SettingsError` or `OSError`."""
        self._require_there()
        return memory_needs(self.run)

    def stop(self, path: Path) -> Outcome:
        """Ask the trainer of a branch to save and end."""
        return Operations(RunDirectory(path)).stop()

    async def open(self, path: Path) -> str:
        """Show a branch in a console of its own in this terminal; why it could not begin."""
        return await run_console(RunDirectory(path))

    def grow(self, asked: Asked) -> Iterator[tuple[Grown, ...]]:
        """Make the branches and train them; tells how far all of them are.

        Ends when all are done. Left at any moment, a trainer that runs trains on to its end.
        Raises `SettingsError`, `HistoryError` or `OSError`.
        """
        grown = tuple(Grown(name=branch.name) for branch in asked.branches)
        runs = []
        for index, branch in enumerate(asked.branches):
            yield (grown := _with(grown, index, words="is being made"))
            run = self._make(asked.step, branch)
            runs.append(run)
            words = "is made" if asked.order is Order.NOT else "waits for its turn"
            grown = _with(grown, index, path=run.path, words=words)
        yield grown
        if asked.order is Order.NOT:
            yield tuple(replace(one, is_done=True) for one in grown)
            return
        ends = [min(asked.step + asked.steps, _total_steps(run)) for run in runs]
        everyone = tuple(range(len(runs)))
        groups = [everyone] if asked.order is Order.AT_ONCE else [(index,) for index in everyone]
        for group in groups:
            trainers = {index: _launch(runs[index], ends[index]) for index in group}
            for now in _watch(trainers, runs, ends):
                yield (grown := tuple(now.get(index, grown[index]) for index in everyone))

    def _require_there(self) -> None:
        """Raise `OSError` where the name leads to another directory, and to its branches."""
        if lost := self._operations.lost:
            raise FileNotFoundError(lost)

    def _make(self, step: int, branch: Branch) -> RunDirectory:
        self._require_there()
        if load_settings(self.run.settings).trainer.command:
            raise SettingsError("branches of another trainer's run are made by the verb fork")
        run = in_child(
            make_fork,
            self.run,
            step,
            branch.name,
            settings=branch.settings,
            change=branch.change,
            t=time.time(),
        )
        words = f"forked from {self.run.name} at step {formatting.steps(step)}"
        log_action(run.actions, "fork", words, ok=True)
        return run


def _total_steps(run: RunDirectory) -> int:
    return load_settings(run.settings).train.total_steps


def _launch(run: RunDirectory, until: int) -> LaunchedTrainer:
    launched = launch_trainer(run, arguments=("--until", str(until)))
    log_action(run.actions, "launch", f"trainer started, up to step {until}", ok=True)
    return launched


def _watch(
    trainers: dict[int, LaunchedTrainer], runs: Sequence[RunDirectory], ends: Sequence[int]
) -> Iterator[dict[int, Grown]]:
    """How each of these is, until none of them trains any more."""
    is_any_alive = True
    while is_any_alive:
        codes = {index: trainer.exit_code() for index, trainer in trainers.items()}
        is_any_alive = None in codes.values()
        yield {index: _state(runs[index], code, ends[index]) for index, code in codes.items()}
        if is_any_alive:
            time.sleep(POLL_SECONDS)


def _state(run: RunDirectory, code: int | None, until: int) -> Grown:
    grown = Grown(name=run.name, path=run.path)
    step = (last_record(run.loss) or {}).get("step")
    at = f"step {formatting.steps(step if isinstance(step, int) else None)}"
    if code is None:
        return replace(grown, words=f"trains, {at} of {formatting.steps(until)}")
    if code == Exit.FINISHED:
        return replace(grown, words=f"is done, {at}", is_done=True)
    return replace(grown, words=f"{exit_words(code)}, {at}", is_done=True)


def _with(
    grown: tuple[Grown, ...], index: int, *, words: str, path: Path | None = None
) -> tuple[Grown, ...]:
    changed = replace(grown[index], words=words, path=path)
    return (*grown[:index], changed, *grown[index + 1 :])
