"""The last words on the terminal after the console has closed its screen."""

from console import formatting
from console.ui.widgets.text import foreign
from console.view.run_view import RunView, Severity
from trainer.rundir.names import quoted


def stopped(view: RunView) -> str:
    """How the run ended, which file it resumes from, and how."""
    if view.is_lost:
        return _lost(view)
    newest = view.newest
    ended = f"{foreign(view.status.word)} at step {formatting.steps(view.step)}"
    if view.status.severity is Severity.BAD and view.status.detail:
        ended += f": {foreign(view.status.detail)}"
    if newest is None:
        saved = "no checkpoint"
    else:
        saved = f"{newest.name}, {formatting.size(newest.n_bytes)}"
    how, option = ("resume with:", " --launch") if view.can_go_on else ("look at it with:", "")
    return f"{foreign(view.name)}: {ended}; {saved}\n{how} andrea-console {_path(view)}{option}"


def detached(view: RunView | None, *, is_stopping: bool = False) -> str:
    """What goes on without the console, and how to come back.

    `is_stopping`: the trainer was told to stop, and may not have said so yet.
    """
    if view is None:
        return "console closed"
    if view.is_lost:
        return _lost(view)
    is_stopping |= view.status.word == "stopping"
    left = _left(view, is_stopping=is_stopping)
    words = f"{foreign(view.name)}: {left}\ncome back with: andrea-console {_path(view)}"
    if view.is_running and not is_stopping:
        words += f"\nstop it with:   andrea-console stop {_path(view)}"
    return words


def _lost(view: RunView) -> str:
    """Where it is, or isn't: by its old name nothing, or another run, would be reached."""
    return f"{foreign(view.name)}: {foreign(view.status.detail)}"


def _left(view: RunView, *, is_stopping: bool) -> str:
    """How the run is left."""
    step = formatting.steps(view.step)
    if not view.is_running:
        alone = "; nothing starts it again while no console is open" * bool(view.status.outlook)
        return f"{foreign(view.status.word)} at step {step}{alone}"
    if is_stopping:
        return f"stopping at step {step}; the trainer ends by itself"
    pid = f" (pid {view.pid})" if view.pid is not None else ""
    return f"training goes on{pid} at step {step}"


def _path(view: RunView) -> str:
    return quoted(view.path)
