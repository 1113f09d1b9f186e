"""Pins: the checkpoints that somebody wants to keep whatever thins, each with a note.

A pin is a small text file `pins/step_NNNNNN.txt`: its name is the pin, what stands in it the note.
So two who pin at once don't undo each other, a note that is damaged takes no pin away, and a shell
can pin, too. The trainer only reads them.
"""

import os
import re
from collections.abc import Iterator

from trainer.rundir.atomic import sync_directory, write_atomic
from trainer.rundir.checkpoints.checkpoint import checkpoint_name
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown
from trainer.rundir.outcomes import HistoryError, SettingsError
from trainer.rundir.reading import read_file

NOTE_BYTES = 4096
"""Of a note in UTF-8 at most."""
_NAME = re.compile(r"step_([0-9]{1,10})(?![0-9A-Za-z_]).*", re.DOTALL)
"""What an editor makes of such a name (`step_000100.txt~`) keeps the checkpoint, too."""


def pinned_steps(run: RunDirectory) -> frozenset[int]:
    """The steps whose checkpoints no thinning may take.

    Raises `HistoryError` where that can't be known: nobody may thin then.
    """
    return frozenset(step for step, _ in _pins(run))


def read_pins(run: RunDirectory) -> dict[int, str]:
    """Step → note, one line of foreign text; raises as `pinned_steps`."""
    notes: dict[int, str] = {}
    for step, name in sorted(_pins(run)):
        if step not in notes or name == _file_name(step):
            notes[step] = _note(run, name)
    return notes


def note_line(text: str) -> str:
    """A note as it is kept: one line that can't steer a terminal; raises `SettingsError`."""
    line = escape_control(" ".join(text.split()), keep_newlines=False)
    if len(line.encode()) >= NOTE_BYTES:
        raise SettingsError(f"a note has less than {NOTE_BYTES:,} bytes")
    return line


def pin(run: RunDirectory, step: int, note: str) -> None:
    """Pin the checkpoint of `step`, durably, with a note in place of the one it may have.

    Raises `HistoryError` for a folder that is no such one, `SettingsError` for a note that is too
    long, or `OSError`.
    """
    line = note_line(note)
    _make_folder(run)
    write_atomic(run.pins / _file_name(step), f"{line}\n".encode() if line else b"")


def unpin(run: RunDirectory, step: int) -> None:
    """Take the pin of `step` away, durably; raises `HistoryError` or `OSError`."""
    for name in [name for pinned, name in _pins(run) if pinned == step]:
        (run.pins / name).unlink(missing_ok=True)
    if run.pins.is_dir():
        sync_directory(run.pins)


def _pins(run: RunDirectory) -> Iterator[tuple[int, str]]:
    for name in _names(run):
        if name.startswith("."):  # one that is being written, or an editor's
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            why = f"is no pin ({_file_name(100)} is one); move it away: until then all stay"
            raise HistoryError(f"{run.pins / shown(name)}: {why}")
        yield int(match[1]), name


def _names(run: RunDirectory) -> list[str]:
    try:
        return [path.name for path in run.pins.iterdir()]
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.lexists(run.pins):
            return []
        raise HistoryError(
            f"{run.pins}: the pins can't be read: {error.strerror}; until then all stay"
        ) from error


def _note(run: RunDirectory, name: str) -> str:
    try:
        data = read_file(run.pins / name, at_most=NOTE_BYTES)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"(its note can't be read: {error.strerror})"
    return " ".join(data.decode(errors="replace").split())


def _make_folder(run: RunDirectory) -> None:
    if run.pins.is_symlink():
        raise HistoryError(f"{run.pins}: is a link; what is written there may be another run's")
    try:
        run.pins.mkdir()
    except FileExistsError:
        if not run.pins.is_dir():
            raise HistoryError(f"{run.pins}: is no folder; move it away") from None
    sync_directory(run.path)


def _file_name(step: int) -> str:
    return checkpoint_name(step).replace(".bin", ".txt")
