"""What the next start would refuse or tell: asked all the time, long before anybody starts."""

from pathlib import Path

from console.view.run_view import Refusal
from trainer.rundir.checkpoints.checkpoint import Inventory
from trainer.rundir.checkpoints.coverage import Steps
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SourceError
from trainer.rundir.start_checks import look_ahead

_LOOK_SECONDS = 30.0
"""How often all is asked again: sources, and room on the disk, change without the run's files.

A look takes 17 ms after 23 days.
"""

_Facts = tuple[int, int, int] | None


class NextStartBook:
    """Asks when a file that decides was changed, or the last look is some seconds old."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._seen: object = None
        self._looked_at = 0.0
        self.refusals: tuple[Refusal, ...] = ()
        self.notes: tuple[str, ...] = ()
        """What it would only tell."""

    def look(
        self,
        now: float,
        *,
        inventory: Inventory,
        steps: Steps,
        is_foreign: bool,
    ) -> None:
        """`now`: monotonic seconds. The rest, of a history that is read, is for `look_ahead`."""
        run = self._run
        deciding = (run.settings, run.samples, run.tokenizer, run.pivot)
        history = _facts(run.loss)
        seen = (*map(_facts, deciding), history and history[0], inventory, is_foreign)
        if seen == self._seen and now - self._looked_at < _LOOK_SECONDS:
            return
        self._seen, self._looked_at = seen, now
        ahead = look_ahead(
            run, inventory=inventory, steps=steps, is_foreign=is_foreign, reads_text=False
        )
        self.refusals = tuple(
            Refusal(what=str(error), is_of_source=isinstance(error, SourceError))
            for error in ahead.refusals
        )
        self.notes = ahead.notes


def _facts(path: Path) -> _Facts:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
