"""Replacing and making small files so that a reader sees the old bytes or the new, never half."""

import contextlib
import os
from pathlib import Path

from trainer.rundir.reading import RECORDS_BYTES, has_other_names, open_regular, read_file


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable (a rename is not, until its directory is synced)."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path) -> None:
    """Make durable what anybody has written to `path`. Raises `OSError`."""
    fd = open_regular(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace `path` by `data`: written beside it, synced, renamed, directory synced.

    With `durable=False` nothing is synced: readers still never see half a file, but a power
    loss may bring the old one back. Raises `OSError`; the old file is then untouched (but for a
    failed sync of the directory, the last act) and no temporary file stays.
    """
    beside = _write_beside(path, data, durable=durable)
    try:
        beside.replace(path)
    except OSError:
        _unlink_quietly(beside)
        raise
    if durable:
        sync_directory(path.parent)


def part_from_others(path: Path) -> None:
    """Before a file is written in place: where it has other names as well, as a copy by hard links
    has (`cp -al`, a backup), make it a file of its own, which no other run has. Raises `OSError`.
    """
    if has_other_names(path):
        write_atomic(path, read_file(path, at_most=RECORDS_BYTES, follows_links=False))


def replace_keeping(path: Path, data: bytes, why: str) -> Path | None:
    """As `write_atomic`, durably; what had the name is kept as `NAME.WHY-1` (-2, …): there."""
    beside = _write_beside(path, data, durable=True)
    try:
        kept = _keep(path, why)
        beside.replace(path)
    except OSError:
        _unlink_quietly(beside)
        raise
    sync_directory(path.parent)
    return kept


def create_exclusively(path: Path, data: bytes) -> None:
    """Make `path` with `data`, whole and durable; `FileExistsError` if somebody made it first."""
    beside = _write_beside(path, data, durable=True)
    try:
        os.link(beside, path)
    finally:
        _unlink_quietly(beside)
    sync_directory(path.parent)


def _write_beside(path: Path, data: bytes, *, durable: bool) -> Path:
    beside = path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.partial")
    try:
        fd = open_regular(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, follows_links=False)
        try:
            write_fully(fd, data)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
    except OSError:
        _unlink_quietly(beside)
        raise
    return beside


def move_aside(path: Path, why: str) -> Path:
    """Keep what stands under the name as `NAME.WHY-1` (or -2, …); raises `OSError`."""
    aside = _free_name(path, why)
    path.rename(aside)
    return aside


def _keep(path: Path, why: str) -> Path | None:
    """By a second name where that can be: the first is then never without a file."""
    if not os.path.lexists(path):
        return None
    if path.is_file() and not path.is_symlink():
        aside = _free_name(path, why)
        with contextlib.suppress(OSError):  # a file system without hard links
            os.link(path, aside)
            return aside
    return move_aside(path, why)


def _free_name(path: Path, why: str) -> Path:
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.{why}-{number}")):
        number += 1
    return aside


def write_fully(fd: int, data: bytes | memoryview) -> None:
    """Write all of `data` at the descriptor's position; a short write goes on where it ended."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _unlink_quietly(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
