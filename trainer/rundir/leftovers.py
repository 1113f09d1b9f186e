"""What a killed trainer or pivot leaves half written, for the next one to clear away."""

import re
from pathlib import Path

from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import process_start_time

_TRAINERS_OWN = re.compile(
    r"\.(checkpoint|(state|loss|samples|tokenizer)\.json\S*|trainer\.lock\S*)\.partial"
)
_ANYONES = re.compile(r"\.(run\.toml|pivot\.json)\.([0-9]+)\.partial")
"""Also written by who has no lock (a pivot is requested while the trainer runs): with their pid."""


_OF_A_STEP = re.compile(r"\.step_[0-9]+\.(txt|json)\.([0-9]+)\.partial")
"""In the folders of pins and evaluations."""


def remove_leftovers(run: RunDirectory) -> list[str]:
    """Unlink the temporary files that nobody is going to rename any more; their names.

    For the holder of the lock: what only its holder makes can't be in use. Of the others a live
    process keeps its own; one whose pid now belongs to another process stays until a later call.
    Raises `OSError`.
    """
    names = _leftovers(run)
    for name in names:
        (run.path / name).unlink(missing_ok=True)
    return names


def leftover_room(run: RunDirectory) -> tuple[int, int]:
    """Bytes and files that a start removes first; of a save under way, what it has taken."""
    found = (run.path / name for name in _leftovers(run))
    sizes = [path.lstat().st_size for path in found if path.exists()]
    return sum(sizes), len(sizes)


def _leftovers(run: RunDirectory) -> list[str]:
    left = [path for path in run.path.iterdir() if _is_left(path)]
    for folder in (run.pins, run.evaluations):
        left += [path for path in _in(folder) if _is_dead(_OF_A_STEP.fullmatch(path.name))]
    return sorted(str(path.relative_to(run.path)) for path in left)


def _in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []  # there is none, or whoever needs what is in it tells why it can't be read


def _is_left(path: Path) -> bool:
    if anyones := _ANYONES.fullmatch(path.name):
        return _is_dead(anyones)
    return _TRAINERS_OWN.fullmatch(path.name) is not None


def _is_dead(match: re.Match[str] | None) -> bool:
    """Whether a process that is gone, by the pid at the name's end, wrote it."""
    return match is not None and process_start_time(int(match[match.re.groups])) is None
