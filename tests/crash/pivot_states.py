"""Every directory that a crash of a pivot may leave, put to both ways out of it."""

import hashlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.checking import lay_out
from tests.crash.pivots import (
    FINISHED,
    FORGOTTEN,
    NEW,
    OLD,
    Recorded,
    go_back,
    go_on,
    make_run,
    record_pivot,
)
from tests.crash.recording import Durable
from tests.crash.states import Directory, read_tree, states_after
from tests.crash.tally import Tally
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError, RunError
from trainer.rundir.pivot.journal import STAGES, Stage, read_pivot

_ARCHIVE = "archive/phase_001/"
_SIDECARS = (".samples.json", ".state.json")
_NO_BYTES = b""


def recorded_pivots(folder: Path, *, kill_every: int) -> Iterator[Recorded]:
    """Straight on, back from each stage, and each of them killed after every `kill_every`-th of
    its operations, with what is done about it then.
    """
    numbers = itertools.count()
    for back_from, is_vain in (
        (None, False),
        *((stage, False) for stage in STAGES),
        (Stage.RESTARTED, True),
    ):
        made = record_pivot(folder / f"pivot {next(numbers)}", back_from=back_from, is_vain=is_vain)
        yield made
        own = range(made.begins - made.adopted + 1, len(made.trace) - made.adopted)
        for kill_after in own[kill_every - 1 :: kill_every]:
            for then in (go_on, go_back):
                yield record_pivot(
                    folder / f"pivot {next(numbers)}",
                    back_from=back_from,
                    is_vain=is_vain,
                    kill_after=kill_after,
                    then=then,
                )


class PivotExplorer:
    """Keeps which states were tried."""

    def __init__(self, scratch: Path, *, at_most: int, seed: int = 0) -> None:
        self.tally = Tally()
        self._at_most = at_most
        self._seed = seed
        self._seen: set[bytes] = set()
        self._original = read_tree(make_run(scratch / "original").path)
        self._run = RunDirectory(scratch / "run")

    def explore(self, recorded: Recorded, *, until_failure: bool = False) -> None:
        """Check the states after each operation of interest, all or to the first that is wrong."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda fd: None)  # no crash comes while a state is checked
            for n_done, promised, state in self._states(recorded):
                self._check(state, promised, f"after {recorded.trace[n_done - 1]!r:.80}")
                if until_failure and self.tally.failures:
                    return

    def _states(self, recorded: Recorded) -> Iterator[tuple[int, int, Directory]]:
        promised = 0
        for n_done, operation in enumerate(recorded.trace, start=1):
            promised = operation.step if isinstance(operation, Durable) else promised
            if n_done < recorded.begins:
                continue
            for state in states_after(
                recorded.trace,
                n_done,
                at_most=self._at_most,
                seed=self._seed,
                is_side=lambda name: False,
            ):
                yield n_done, promised, state

    def _check(self, state: Directory, promised: int, where: str) -> None:
        key = hashlib.sha256(repr((promised, sorted(state.items()))).encode()).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        self.tally.states += 1
        self.tally.failures += [f"{what} {where}" for what in self.failures_of(state, promised)]

    def failures_of(self, state: Directory, promised: int) -> list[str]:
        """What is wrong at the end of either way out of this state of a pivot's run."""
        failures = []
        for way in (self._check_going_on, self._check_going_back):
            lay_out(state, self._run)
            try:
                self._check_promise(promised)
                way(state)
            except (AssertionError, RunError, OSError) as error:
                failures.append(f"{way.__name__[7:]}: {error}")
        return failures

    def _check_promise(self, promised: int) -> None:
        pivot = read_pivot(self._run.pivot)
        if pivot is not None:
            reached = STAGES.index(pivot.stage) + 1
        else:
            reached = FINISHED if self._run.archived_phases() else FORGOTTEN
        if promised == FORGOTTEN:
            assert reached == FORGOTTEN, "a pivot that was taken back is there"
        else:
            assert reached >= promised or not promised, f"stage {promised} was promised"

    def _check_going_on(self, state: Directory) -> None:
        go_on(self._run, lambda stage: None)
        if self._run.archived_phases():
            self._assert_pivoted()
        else:
            self._assert_untouched(state)

    def _check_going_back(self, state: Directory) -> None:
        try:
            go_back(self._run, lambda stage: None)
        except HistoryError:
            assert b'"phase":2' in state[".loss.json"], "no step of the new phase, but refused"
            assert read_tree(self._run.path) == state, "refused, but something was changed"
            self._check_going_on(state)
            return
        if self._run.archived_phases():
            self._assert_pivoted()  # it had ended
        else:
            self._assert_untouched(state)

    def _assert_untouched(self, state: Directory) -> None:
        there = _without_temporaries(read_tree(self._run.path))
        there.pop("archive/", None)
        expected = {**self._original, ".loss.json": state[".loss.json"]}
        _assert_same(there, expected)

    def _assert_pivoted(self) -> None:
        there = _without_temporaries(read_tree(self._run.path))
        history = self._original[".loss.json"].removesuffix(b"\n]\n")
        assert there.pop(".loss.json").startswith(history), "the history was changed"
        there.pop(f"{_ARCHIVE}pivot.json", None)
        journal = read_pivot(self._run.path / _ARCHIVE / "pivot.json")
        assert journal is not None, "no journal in the archive"
        assert journal.stage is Stage.RESTARTED
        first = journal.first_record or {}
        assert first.get("phase") == 2, "an old record passed for the new phase's"
        for name in _SIDECARS:
            assert there.pop(name, _NO_BYTES) != self._original[name], f"{name} is the old phase's"
        archived = {f"{_ARCHIVE}{name}": self._original[name] for name in (*_SIDECARS, "run.toml")}
        assert archived[f"{_ARCHIVE}run.toml"] == OLD.encode()
        expected = {
            "run.toml": NEW.encode(),
            "step_000004.bin": self._original["step_000004.bin"],
            "archive/": _NO_BYTES,
            _ARCHIVE: _NO_BYTES,
            **archived,
        }
        _assert_same(there, expected)


def _without_temporaries(tree: Directory) -> Directory:
    """Without what the next write of that file, or the next trainer, clears away."""
    return {
        name: data
        for name, data in tree.items()
        if not ("/" not in name and name.endswith(".partial")) and ".torn-" not in name
    }


def _assert_same(there: Directory, expected: Directory) -> None:
    wrong = [name for name in sorted({*there, *expected}) if there.get(name) != expected.get(name)]
    assert not wrong, f"not as they should be: {wrong}"
