"""The runs that are mutated: real ones, made once, each in another state."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from tests.crash.workload import make_small_run
from tests.tiny import ask_stop, train_here
from trainer.rundir.actions import log_action
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.pins import pin
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.pivot.journal import HoldMode, Pivot, read_pivot, request_pivot
from trainer.rundir.pivot.stages import archive, commit, finish, first_record, hold, restart

STEPS = 13
"""Of a run that is at its end."""
STOPPED_AT = 7

POLICY = "[policy.large]\ncap = 0.7\n[policy.small]\nfloor = 0.2\n"
"""What a pivot of any base can ask for."""


def make_bases(folder: Path) -> dict[str, RunDirectory]:
    """Name → run. Their sources lie beside them."""
    bases = {"new": make_small_run(folder / "new")}
    stopped = make_small_run(folder / "stopped")
    text = stopped.settings.read_text().replace("[audit]", '[audit]\nprompts = ["a run", "é"]')
    stopped.settings.write_text(text)
    assert train_here(stopped, {STOPPED_AT: ask_stop}) is Exit.TERMINATED
    _operate(stopped)
    bases["stopped"] = stopped
    bases["finished"] = _copied(stopped, "finished")
    assert train_here(bases["finished"]) is Exit.FINISHED
    forked = make_fork(
        bases["finished"], 6, "forked", settings={"optimizer.lr": "1e-3"}, change=None, t=1.0
    )
    assert train_here(forked, {9: ask_stop}) is Exit.TERMINATED
    bases["forked"] = forked
    bases.update(_pivoted(stopped))
    return bases


def _pivoted(stopped: RunDirectory) -> dict[str, RunDirectory]:
    """One at each stage of a pivot, and one that is through and trained on."""
    runs = {}
    before = stopped
    acts: dict[str, Callable[[RunDirectory], object]] = {
        "requested": _request,
        "held": lambda run: hold(
            run, _journal(run), list_checkpoints(run.path, None).checkpoints[-1], 2.0
        ),
        "archived": lambda run: archive(run, _journal(run), 3.0),
        "committed": lambda run: commit(run, _journal(run), 4.0),
        "restarted": lambda run: restart(run, _journal(run), 5.0),
        "pivoted": _end_pivot,
    }
    for name, act in acts.items():
        runs[name] = before = _copied(before, name)
        act(before)
    return runs


def _request(run: RunDirectory) -> Pivot:
    text = run.settings.read_text().replace("cap = 2.0", "cap = 1.5")
    return request_pivot(run, text, mode=HoldMode.NOW, note="why", step=STOPPED_AT, t=1.0)


def _journal(run: RunDirectory) -> Pivot:
    pivot = read_pivot(run.pivot)
    assert pivot is not None
    return pivot


def _end_pivot(run: RunDirectory) -> None:
    assert train_here(run, {STOPPED_AT + 3: ask_stop}) is Exit.TERMINATED
    first = first_record(run, _journal(run))
    assert first is not None
    finish(run, _journal(run), first, 6.0)


def _operate(run: RunDirectory) -> None:
    """What a console leaves behind."""
    pin(run, 6, "a note")
    log_action(run.actions, "stop", "stop requested", ok=True, pid=1)
    run.log.write_text(f"{time.strftime('%Y-%m-%d %H:%M:%S')} stopped: stopped by SIGTERM\n")


def _copied(run: RunDirectory, name: str) -> RunDirectory:
    path = run.path.with_name(name)
    shutil.copytree(run.path, path)
    return RunDirectory(path)
