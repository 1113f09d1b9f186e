"""Trainings whose directory, or lock, is renamed, moved or unlinked at a drawn moment.

The trainer works on the directory that it locked: what only loses its name is trained on, whole;
what is gone, or another's by now, ends the training in words within a step; and nothing is ever
written into another run.
"""

import contextlib
import io
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import trainer.loop
from tests.crash.checking import train_to_the_end
from tests.crash.name_deeds import DEEDS, Deed, Scene
from tests.crash.recording import Recorder, SyncFile
from tests.crash.states import Directory, final, read_tree
from tests.crash.tally import Tally
from tests.crash.training_states import explore
from tests.crash.workload import Truth, make_prepared_run, make_truth, promising
from tests.tiny import ask_checkpoint, train_here
from trainer.cli import main
from trainer.loop import Training
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.signals import Signals

_N_MOMENTS = 4
"""At which the power is cut after a deed."""
_RESUME_EVERY = 4
"""N-th state that a power cut leaves is trained to the end."""
_N_TO_LOCK = 2
"""File operations of a trainer until it has locked its run."""
_REQUESTED_AT = 4


class NameExplorer:
    """Does what `DEEDS` has, in turn, each at a moment drawn of one training."""

    def __init__(self, folder: Path, *, seed: int = 0) -> None:
        self._folder = folder
        self._seed = seed
        folder.mkdir(exist_ok=True)
        self._truth = make_truth(folder / "truth")
        self._other = make_prepared_run(folder / "other", self._truth)
        text = self._other.settings.read_text()
        self._other.settings.write_text(text.replace("seed = 7", "seed = 8"))
        train_here(self._other)
        self._first, self._last = self._moments()

    def explore(self, n_cases: int, *, names: Sequence[str] = tuple(DEEDS)) -> Tally:
        """What so many cases came to: the crash states after the deeds, and what went wrong."""
        tally = Tally()
        for number in range(n_cases):
            name = names[number % len(names)]
            chance = random.Random(f"{self._seed} {number} {name}")
            after = chance.randint(self._first, self._last)
            case = self._new_case(DEEDS[name])
            wrong = case.train(after) or self._go_on(case, after, chance, tally)
            tally.failures += [
                f"case {number}, {name} after {after} operations: {what}" for what in wrong
            ]
        return tally

    def _new_case(self, deed: Deed | None) -> "_Case":
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        return _Case(folder, self._truth, self._other, deed)

    def _moments(self) -> tuple[int, int]:
        """File operations until an undisturbed training has its lock, and until its last look at
        what is saved.
        """
        case = self._new_case(None)
        assert case.train(0) == []
        trace, history = case.scene.recorder.trace, case.scene.run.loss.name
        syncs = [n for n, o in enumerate(trace, 1) if isinstance(o, SyncFile) and o.name == history]
        return case.n_adopted + _N_TO_LOCK, syncs[-1]

    def _go_on(
        self, case: "_Case", after: int, chance: random.Random, tally: Tally
    ) -> Iterator[str]:
        """A power cut at moments after the deed, and the next start: what was wrong with them."""
        if case.deed is None or not case.deed.keeps_run:
            return
        run, trace = case.scene.now, case.scene.recorder.trace
        cut = explore(
            trace,
            self._truth,
            run.path.parent / "scratch",
            at_most=2,
            seed=self._seed,
            resume_every=_RESUME_EVERY,
            moments=chance.sample(range(after, len(trace)), min(_N_MOMENTS, len(trace) - after)),
        )
        tally.states += cut.states
        tally.resumed += cut.resumed + 1
        yield from (f"a power cut {failure}" for failure in cut.failures)
        try:
            train_to_the_end(run, self._truth)
        except AssertionError as error:
            yield f"trained on: {error}"


class _Case:
    """One training, in a folder of its own, beside another run."""

    def __init__(self, folder: Path, truth: Truth, other: RunDirectory, deed: Deed | None) -> None:
        self.deed = deed
        run = make_prepared_run(folder / "run", truth)
        self._other = read_tree(other.path)
        _write_tree(self._other, folder / "other")
        self.scene = Scene(
            run=run,
            other=RunDirectory(folder / "other"),
            recorder=Recorder(run.path, ignored=(run.tokens.name,)),
        )
        self.n_adopted = 0
        self._n_begun_after = 0

    def train(self, after: int) -> list[str]:
        """What was wrong with a training in which the deed comes after so many operations."""
        recorder, output = self.scene.recorder, io.StringIO()
        with recorder.recording(), promising(recorder.durable), self._scripted():
            self.n_adopted = len(recorder.trace)
            if self.deed is not None:
                recorder.act_after(after, self._do)
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                code = main([str(self.scene.run.path)])
        self.scene.end()
        return [*self.scene.wrong, *self._judge(code, output.getvalue())]

    def _do(self) -> None:
        assert self.deed is not None
        self.deed.act(self.scene)
        self.scene.is_done = True

    @contextlib.contextmanager
    def _scripted(self) -> Iterator[None]:
        """A request on the way; signals stay this process's; whoever waits, waits no time."""
        real_step = trainer.loop.take_step

        def step(training: Training) -> None:
            self._n_begun_after += self.scene.is_done
            real_step(training)
            if training.engine.step == _REQUESTED_AT:
                ask_checkpoint(training)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trainer.loop, "take_step", step)
            patch.setattr(Signals, "install", lambda _: None)
            patch.setattr("trainer.rundir.lock._CONTESTED_SECONDS", 0.0)
            yield

    def _judge(self, code: int, output: str) -> Iterator[str]:
        scene, deed = self.scene, self.deed
        if read_tree(scene.other.path) != self._other:
            yield "another run was written into"
        strangers = {path.name for path in scene.run.path.parent.iterdir()} - _NAMES
        if strangers:
            yield f"names beside the run: {strangers}"
        if "Traceback" in output or "/proc/self/fd" in output:
            yield f"no words: {output[-500:]!r}"
        if deed is None or not scene.is_done:
            return
        if deed.keeps_run and final(scene.recorder.trace) != read_tree(
            scene.now.path, ignored=scene.now.tokens.name
        ):
            yield "something was written that was not recorded"
        yield from self._judge_end(deed, code, output)

    def _judge_end(self, deed: Deed, code: int, output: str) -> Iterator[str]:
        """`n` steps began after the deed: before the second of them it was looked at."""
        n = self._n_begun_after
        if deed.told and deed.told not in output and n > 1:
            yield f"not a word of it in {n} steps: {output[-500:]!r}"
        if deed.end is not Exit.FINISHED and n > 1:
            yield f"{n} steps were trained after it"
        if code != deed.end and not (deed.end is Exit.LOCKED and n <= 1 and not code):
            yield f"ended with {code}: {output[-500:]!r}"


_NAMES = {
    *("run", "other", "renamed", "elsewhere", "another machine"),
    *("run-large.jsonl", "run-small.jsonl"),
}


def _write_tree(tree: Directory, path: Path) -> None:
    path.mkdir()
    for name in sorted(name for name in tree if name.endswith("/")):
        (path / name).mkdir(parents=True, exist_ok=True)
    for name, data in tree.items():
        if not name.endswith("/"):
            (path / name).write_bytes(data)
