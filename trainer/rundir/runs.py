"""Whether a directory is a run, and which runs lie in one that is none."""

import os
from pathlib import Path

from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted, shown

_NAMED = 5
"""So many runs are named in a message."""


def is_run(run: RunDirectory) -> bool:
    """Whether something of a run lies there, or may lie: it can't be looked into.

    Log, lock and actions alone are none: a verb that was refused may leave them anywhere.
    """
    own = (run.settings, run.loss, run.samples, run.state)
    if any(os.path.lexists(path) for path in own) or not os.access(run.path, os.R_OK | os.X_OK):
        return True
    return next(run.path.glob("step_*.bin"), None) is not None


def runs_in(folder: Path) -> list[RunDirectory]:
    """Those right below, by name."""
    below = (RunDirectory(path) for path in sorted(folder.iterdir()) if path.is_dir())
    return [run for run in below if is_run(run)]


def why_no_run(folder: Path) -> str:
    """What a directory is that is no run, and what to ask for instead; empty for a run."""
    if is_run(RunDirectory(folder)):
        return ""
    runs = runs_in(folder)
    if not runs:
        return f"{shown(folder)}: is no run: no file of one is in it"
    names = ", ".join(quoted(run.path) for run in runs[:_NAMED])
    more = f" and {len(runs) - _NAMED:,} more" if len(runs) > _NAMED else ""
    return f"{shown(folder)}: is no run, but a directory of runs; name one of them: {names}{more}"
