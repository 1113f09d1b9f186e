"""What an operator's consoles remember of a run: a file of the operator's, none of the run's."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from console.view.alarm_book import Alarm
from console.view.away import Seen
from trainer.rundir.atomic import write_atomic
from trainer.rundir.reading import read_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Everything in the file."""

    run: str = ""
    """The run's path, for a person."""
    began: float | None = None
    """Time of its first record: a run that was made anew under the same path has another."""
    seen: Seen | None = None
    alarms: tuple[Alarm, ...] = ()


def memory_path(run: Path, environment: Mapping[str, str]) -> Path | None:
    """Where a run is remembered, by its path: `$XDG_STATE_HOME/andrea/….json`.

    `None` for who has no home.
    """
    given, home = environment.get("XDG_STATE_HOME", ""), environment.get("HOME", "")
    folder = Path(given) if Path(given).is_absolute() else Path(home) / ".local" / "state"
    if not folder.is_absolute():
        return None
    name = hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:16]
    return folder / "andrea" / f"{name}.json"


def read_memory(path: Path) -> Remembered:
    """What is remembered; nothing where the file isn't there or is not ours."""
    try:
        return msgspec.json.decode(read_file(path), type=Remembered)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Remembered()


def write_memory(path: Path, remembered: Remembered) -> None:
    """Replace the file; raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, msgspec.json.encode(remembered), durable=False)
