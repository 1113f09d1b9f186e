"""Where the files lie that are an operator's, one a run; none of them is the run's."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def memory_path(run: Path, environment: Mapping[str, str]) -> Path | None:
    """Where it is kept what was seen of a run: `$XDG_STATE_HOME/andrea/….json`.

    `None` for who has no home.
    """
    return operator_path(run, environment, "XDG_STATE_HOME", ".local/state", "json")


def operator_path(
    run: Path, environment: Mapping[str, str], variable: str, below_home: str, suffix: str
) -> Path | None:
    """A run's file, by its path, in the folder that the variable names, or in this one below home.

    `None` for who has neither.
    """
    given, home = environment.get(variable, ""), environment.get("HOME", "")
    folder = Path(given) if Path(given).is_absolute() else Path(home) / below_home
    if not folder.is_absolute():
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(run))).hexdigest()[:16]
    return folder / "andrea" / f"{name}.{suffix}"
