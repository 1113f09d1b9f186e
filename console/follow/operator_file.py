"""What an operator's consoles remember of a run: a file of the operator's, none of the run's."""

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
