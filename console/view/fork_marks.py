"""Where a fork left its parents, and with which settings, as marks on its chart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from console.view.cached_file import CachedFile
from console.view.run_view import Mark, MarkKind
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import read_file
from trainer.rundir.records.record_fields import step_of, words


class ForkBook:
    """Reads `fork.json` when it changes; a run that is no fork has no marks."""

    def __init__(self, run: RunDirectory) -> None:
        self._file = CachedFile(run.fork, _read)
        self._joined: tuple[tuple[Mark, ...], tuple[Mark, ...], tuple[Mark, ...]] = ((), (), ())

    def join(self, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
        """All marks by ascending step; the same object until one changes."""
        own = self._file.look()
        if not own:
            return marks
        before, own_before, joined = self._joined
        if before is not marks or own_before is not own:
            joined = tuple(sorted((*marks, *own), key=lambda mark: mark.step))
            self._joined = (marks, own, joined)
        return joined


def _read(path: Path) -> tuple[Mark, ...]:
    try:
        written = orjson.loads(read_file(path))
    except (OSError, orjson.JSONDecodeError):
        return ()
    return fork_marks(written) if isinstance(written, dict) else ()


def fork_marks(written: Mapping[str, Any]) -> tuple[Mark, ...]:
    """One at the first step of the fork with what it changed, one for each fork before it."""
    settings = written.get("settings")
    changes = settings.items() if isinstance(settings, dict) else ()
    label = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in changes)
    marks = [_mark(written, label)]
    lineage = written.get("lineage")
    for base in lineage[1:] if isinstance(lineage, list) else ():
        marks.append(_mark(base, "") if isinstance(base, dict) else None)
    return tuple(mark for mark in marks if mark is not None)


def _mark(base: Mapping[str, Any], changes: str) -> Mark | None:
    step = step_of(base)
    if step is None:
        return None
    label = f"fork of {words(base, 'parent') or 'another run'}" + (
        f": {changes}" if changes else ""
    )
    return Mark(step=step + 1, kind=MarkKind.SETTINGS, label=label)
