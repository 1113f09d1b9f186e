"""A case: a base run, mutated, put to something, judged. All of it from a seed and a number."""

import contextlib
import math
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.crash.fuzz import bases
from tests.crash.fuzz.acts import Act, draw_act, perform
from tests.crash.fuzz.child import Ended, run_limited
from tests.crash.fuzz.judging import Wrong, judge
from tests.crash.fuzz.mutations import Surroundings, mutate, mutate_file
from tests.crash.fuzz.snapshot import differences, snapshot
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit
from trainer.rundir.pivot.journal import hold_wanted

LIMIT_SECONDS = 10.0
_STOP_AFTER_SECONDS = 4.0
"""A trainer may have been given much to do; it is asked to end then, and has to obey."""
_STEP_SECONDS = 0.05
_NAMES = ("r", "r", "r", "r", "a b", "-rf", "line\nfeed", "\x1b[2J", "\udcff", "n" * 200, "%n$x")

Perform = Callable[[Act, Path], int]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What was done, in words, and what was wrong."""

    number: int
    command: list[str]
    base: str
    mutations: list[str]
    seconds: float
    wrong: list[Wrong]


@dataclass(frozen=True, kw_only=True)
class Arena:
    """Where cases take place, one after the other: a folder that is made anew for each."""

    folder: Path
    bases: Mapping[str, RunDirectory]
    limit_seconds: float = LIMIT_SECONDS

    def try_case(self, seed: int, number: int, perform: Perform = perform) -> Case:
        """Draw the case, do it, judge it."""
        chance = random.Random(f"{seed}/{number}")
        base = chance.choice(sorted(self.bases))
        around, policy = self._lay_out(chance, self.bases[base])
        act = draw_act(chance, policy, around.run.with_name("other"))
        is_live = chance.random() < 0.08
        is_link = chance.random() < 0.05
        # One that a pivot has restarted is waited for until its first step: it comes to none.
        life_seconds = 1.0 if base == "restarted" else math.inf
        live = _live_trainer(RunDirectory(around.run), life_seconds)
        with live if is_live else contextlib.nullcontext():
            mutations = [mutate(around, chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
            if str(policy) in act.arguments and chance.random() < 0.4:
                mutations.append(mutate_file(policy, around, chance))
            run = self._reached(around.run, chance, is_link=is_link)
            ended, outside, log = self._perform(act, run, around, perform, mutations)
        wrong = judge(act, ended, outside, log)
        base += ", live" if is_live else ""
        return Case(
            number=number,
            command=act.words(str(run)),
            base=base,
            mutations=mutations,
            seconds=ended.seconds,
            wrong=wrong,
        )

    def _lay_out(self, chance: random.Random, base: RunDirectory) -> tuple[Surroundings, Path]:
        _remove(self.folder)
        outside, runs = self.folder / "outside", self.folder / "runs"
        for path in (outside / "folder", runs, self.folder / "home", self.folder / "output"):
            path.mkdir(parents=True)
        (outside / "secret.json").write_text('[\n{"step":1,"loss":1.0}\n]\n')
        (outside / "folder" / "note").write_text("not of the run")
        policy = outside / "policy.toml"
        policy.write_text(bases.POLICY)
        run = runs / chance.choice(_NAMES)
        shutil.copytree(base.path, run)
        shutil.copytree(self.bases["finished"].path, runs / "other")
        return Surroundings(run=run, outside=outside), policy

    def _reached(self, run: Path, chance: random.Random, *, is_link: bool) -> Path:
        """The path that is given."""
        if is_link:
            link = self.folder / "outside" / "link"
            link.symlink_to(run)
            return link
        return chance.choice((run, Path(os.path.relpath(run, self.folder / "home"))))

    def _perform(
        self, act: Act, run: Path, around: Surroundings, perform: Perform, mutations: list[str]
    ) -> tuple[Ended, list[str], bytes]:
        made = (around.run.parent / name for name in act.makes)
        allowed = (around.run, self.folder / "output", *made, *_linked_folders(around.run))
        before, log = snapshot(self.folder, but=allowed), _log_bytes(around.run)

        def do() -> int:
            os.chdir(self.folder / "home")
            os.environ.update(HOME=str(self.folder / "home"), TMPDIR=str(self.folder / "home"))
            return perform(act, run)

        ended = run_limited(
            do,
            self.folder / "output",
            limit_seconds=self.limit_seconds,
            stop_after_seconds=_STOP_AFTER_SECONDS if act.is_trainer else None,
            heeds_permissions=any(": mode " in what for what in mutations),
        )
        after = snapshot(self.folder, but=allowed)
        outside = [line.replace(f"{self.folder}/", "") for line in differences(before, after)]
        return ended, outside, _log_bytes(around.run)[len(log) :]


def _linked_folders(run: Path) -> list[Path]:
    """Where the operator put tokens and archive, by links: what is written there is the run's."""
    links = [run / name for name in ("tokens", "archive") if (run / name).is_symlink()]
    return [link.resolve() for link in links if link.is_dir()]


def _log_bytes(run: Path) -> bytes:
    log = run / "trainer.log"
    return log.read_bytes() if log.is_file() and log.stat().st_size < 1 << 20 else b""


def _remove(folder: Path) -> None:
    if folder.exists():
        for path in (folder / "runs").rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


@contextlib.contextmanager
def _live_trainer(run: RunDirectory, life_seconds: float) -> Iterator[None]:
    """Holds the run's lock, takes checkpoint requests, is held for a pivot, ends when told."""
    ready, telling = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            signal.signal(signal.SIGUSR1, lambda *_: None)
            signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
            TrainerLock(run.lock)
            os.write(telling, b".")
            began = time.monotonic()
            while hold_wanted(run) is None:  # looked at in each step, told of it or not
                time.sleep(_STEP_SECONDS)
                if time.monotonic() - began > life_seconds:
                    os._exit(Exit.ERROR)
            os._exit(Exit.HELD)
        finally:
            os._exit(1)
    os.close(telling)
    os.read(ready, 1)
    os.close(ready)
    try:
        yield
    finally:
        with contextlib.suppress(ChildProcessError):  # ended, and reaped, with the case
            if not os.waitpid(pid, os.WNOHANG)[0]:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
