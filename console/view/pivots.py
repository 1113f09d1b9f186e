"""The pivots of a run as its console shows them: the one under way, and the notes of the others."""

from dataclasses import replace
from pathlib import Path

from console.view.cached_file import CachedFile
from console.view.run_view import Mark, MarkKind
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.pivot.journal import HALF_DONE, Pivot, how_to_go_on, read_pivot


class PivotBook:
    """Reads each journal once; a look costs a few stats."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._under_way = CachedFile(run.pivot, _read)
        self._archived: dict[int, Pivot] = {}
        self._notes: dict[int, str] = {}
        self._labelled: tuple[tuple[Mark, ...], dict[int, str], tuple[Mark, ...]] = ((), {}, ())
        self.warning = ""
        """What to do about a pivot that is under way; empty if there is none."""

    def look(self) -> None:
        """Read what is new."""
        pivot = self._under_way.look()
        self.warning = ""
        if pivot is not None:
            what = "half done" if pivot.stage in HALF_DONE else "under way"
            self.warning = f"a pivot is {what} ({pivot.stage}); {how_to_go_on(self._run)}"
        for phase, folder in self._run.archived_phases():
            if phase not in self._archived and (over := _read(folder / self._run.pivot.name)):
                self._archived[phase] = over
        known = [*self._archived.values(), *([pivot] if pivot is not None else [])]
        self._notes = {p.held.step + 1: p.note for p in known if p.held is not None and p.note}

    def label(self, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
        """The marks with the note of the pivot on each; the same object until one changes."""
        before, notes, labelled = self._labelled
        if before is not marks or notes != self._notes:
            labelled = tuple(self._with_note(mark) for mark in marks)
            self._labelled = (marks, self._notes, labelled)
        return labelled

    def _with_note(self, mark: Mark) -> Mark:
        note = self._notes.get(mark.step, "") if mark.kind is MarkKind.PHASE else ""
        return replace(mark, label=f"{mark.label}: {note}") if note else mark


def _read(path: Path) -> Pivot | None:
    try:
        return read_pivot(path)
    except (OSError, HistoryError):
        return None
