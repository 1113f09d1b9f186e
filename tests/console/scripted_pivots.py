"""A pivot without a trainer: its facts come when a test lets them, from a real run directory."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from console.pivot.driver import PivotHaltedError
from console.pivot.facts import Progress
from console.pivot.plan import Plan
from tests.console import fixed_run
from tests.console.told import Told
from trainer.rundir.layout import RunDirectory
from trainer.rundir.pivot.journal import HoldMode, Pivot, Stage, read_pivot, request_pivot
from trainer.rundir.state import State, write_state

FACTS = (
    Progress(
        stage=Stage.HELD,
        is_done=True,
        message="held at step 114,000: step_114000.bin, 1.44 GB, score 72.4, val_loss 2.8610",
    ),
    Progress(
        stage=Stage.ARCHIVED,
        is_done=True,
        message="archived to archive/phase_002: .samples.json (38.1 kB), .state.json (9.20 kB)",
    ),
    Progress(stage=Stage.COMMITTED, is_done=True, message="new settings committed"),
    Progress(
        stage=Stage.RESTARTED,
        is_done=True,
        message="phase 3 runs: loss 2.7012 at step 114001, beside 2.6987 at step 114000,"
        " the last of phase 2",
    ),
)
STARTING = Progress(stage=Stage.RESTARTED, is_done=False, message="starting: loading torch")
WAITING = Progress(
    stage=Stage.HELD,
    is_done=False,
    message="waiting for the checkpoint of step 114,000",
    step=113_950,
)


@dataclass
class ScriptedPivots:
    """Remembers what was asked; `then` is what the walk tells, or raises, next."""

    run: RunDirectory
    calls: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    then: "queue.Queue[Progress | Exception | None]" = field(default_factory=queue.Queue)
    refusal: Exception | None = None
    back: Told = field(default_factory=Told)
    may_request: threading.Event = field(default_factory=threading.Event)
    """While it isn't set, the disk is slow."""

    def __post_init__(self) -> None:
        self.may_request.set()

    def request(self, plan: Plan) -> Progress:
        self.calls.append("request")
        assert self.may_request.wait(20)
        if self.refusal is not None:
            raise self.refusal
        self.plans.append(plan)
        return Progress(
            stage=Stage.REQUESTED,
            is_done=True,
            message="requested at step 113,942, to be held at step 114,000",
        )

    def walk(self) -> Iterator[Progress]:
        self.calls.append("walk")
        while (told := self.then.get(timeout=30)) is not None:
            if isinstance(told, Exception):
                raise told
            yield told

    def roll_back(self) -> Told:
        self.calls.append("roll back")
        return self.back

    def tell(self, *told: Progress | Exception | None) -> None:
        """Let the walk tell these."""
        for one in told:
            self.then.put(one)


def halted(message: str) -> PivotHaltedError:
    return PivotHaltedError(message)


def leave_pivot(run: RunDirectory, new_text: str) -> Pivot:
    """A pivot under way that a console left when it was only requested."""
    request_pivot(run, new_text, mode=HoldMode.BOUNDARY, note="left", step=113_942, t=1.0)
    pivot = read_pivot(run.pivot)
    assert pivot is not None
    return pivot


_TOML = """\
preset = "andrea-120m"

# What the run trains on.
[sources.stdlib-docs]
path = "python:docs"
[sources.stdlib-code]
path = "python:code"
[sources.books]
path = "books/*.txt"
[sources.wiki-en]
path = "wiki.txt"
[sources.chat]
path = "chat.txt"

[policy.stdlib-docs]
floor = 0.1
cap = 1.5
[policy.stdlib-code]
floor = 0.1
[policy.books]
floor = 0.2
[policy.chat]
cap = 0.25
"""


def make_fixed_run(path: Path) -> RunDirectory:
    """A run directory that goes with the fixed run: five sources, a state, samples, an archive."""
    path.mkdir(parents=True)
    run = RunDirectory(path)
    run.settings.write_text(_TOML)
    (path / "books").mkdir()
    for name in ("books/one.txt", "wiki.txt", "chat.txt"):
        (path / name).write_text("Some text of its own.\n")
    arms = {arm.name: arm.state for arm in fixed_run.fixed_view(1).arms}
    write_state(run.state, State(phase=2, arms=arms))
    run.samples.write_text("[\n]\n" + " " * 38_000)
    run.phase_archive(1).mkdir(parents=True)
    return run
