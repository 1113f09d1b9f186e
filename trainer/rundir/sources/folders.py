"""The files of a folder that is given as a source."""

from collections.abc import Callable
from pathlib import Path

import orjson

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.reading import read_file
from trainer.rundir.sources.matching import Matched, Walk, found_at, match_files

_ALL = "**/*"
_SPLITS = "dataset_dict.json"
_DATASET = "state.json"


def require_folder(folder: Path) -> None:
    """Raise `SourceError` for a folder that can be no source, without a walk through it."""
    if folder.resolve() == Path(folder.resolve().anchor):
        raise SourceError(f"{shown(folder)}: is the whole disk; name a folder of it")
    if (folder / _SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if path.is_dir())
        named = ", ".join(f"{shown(folder)}/{shown(name)}" for name in splits)
        raise SourceError(f"{shown(folder)}: holds several data sets; name one of them: {named}")
    if next(Walk().files(folder, _ALL), None) is None:
        raise SourceError(f"{shown(folder)}: is a folder without a file")


def files_of_folder(folder: Path, base: Path, check: Callable[[], None]) -> Matched:
    """All files below a folder, but for hidden ones and those of a run in it (`base`).

    Of a folder that `datasets.save_to_disk` has made, those that it lists, in its order.
    Raises `SourceError`.
    """
    require_folder(folder)
    if (listed := _listed(folder)) is not None:
        return Matched(found=tuple(map(found_at, listed)))
    matched = match_files(folder, _ALL, check)
    found, own = matched.found, base.resolve()
    if own.is_relative_to(folder.resolve()):
        found = tuple(f for f in found if not Path(f.path).resolve().is_relative_to(own))
    return Matched(found=found, unreadable=matched.unreadable, is_folder=True)


def _listed(folder: Path) -> tuple[Path, ...] | None:
    """The files of a data set that was saved there; None: it is no such folder."""
    path = folder / _DATASET
    try:
        told = orjson.loads(read_file(path))
        files = tuple(folder / Path(entry["filename"]).name for entry in told["_data_files"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return files or None
