"""The last words on the terminal after the console has closed its screen."""

import shlex

from console import formatting
from console.run_view import RunView, Severity
from console.widgets.text import foreign


def stopped(view: RunView) -> str:
    """How the run ended, which file it resumes from, and how."""
    newest = view.newest
    ended = f"{foreign(view.status.word)} at step {formatting.steps(view.step)}"
    if view.status.severity is Severity.BAD and view.status.detail:
        ended += f": {foreign(view.status.detail)}"
    if newest is None:
        saved = "no checkpoint"
    else:
        saved = f"{newest.name}, {formatting.size(newest.n_bytes)}"
    return f"{foreign(view.name)}: {ended}; {saved}\nresume with: andrea-console {_path(view)}"


def detached(view: RunView | None) -> str:
    """What goes on without the console, and how to come back."""
    if view is None:
        return "console closed"
    if not view.is_running:
        state = f"{foreign(view.status.word)} at step {formatting.steps(view.step)}"
        return f"{foreign(view.name)}: {state}\ncome back with: andrea-console {_path(view)}"
    if view.status.word == "stopping":
        return (
            f"{foreign(view.name)}: stopping at step {formatting.steps(view.step)}; the trainer"
            f" ends by itself\ncome back with: andrea-console {_path(view)}"
        )
    pid = f" (pid {view.pid})" if view.pid is not None else ""
    return (
        f"{foreign(view.name)}: training goes on{pid} at step {formatting.steps(view.step)}\n"
        f"come back with: andrea-console {_path(view)}\n"
        f"stop it with:   andrea-console stop {_path(view)}"
    )


def _path(view: RunView) -> str:
    return shlex.quote(str(view.path))
