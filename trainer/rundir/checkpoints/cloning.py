"""Cloning files that are never written in place: as cheap as the file system allows."""

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from trainer.rundir.atomic import sync_directory, sync_file
from trainer.rundir.reading import reading

_FICLONE = 0x40049409
"""ioctl_ficlone(2): the target shares the source's blocks until one of them is written to."""


def clone_file(source: Path, target: Path) -> str:
    """Make `target` by `reflink`, else `hard link`, else `copy`, durably; says which.

    Raises `OSError`; nothing half-made stays then.
    """
    source = source.resolve()  # a hard link to a link would be one more link
    target.parent.mkdir(parents=True, exist_ok=True)
    how = "hard link"
    if _reflink(source, target):
        how = "reflink"
    else:
        try:
            target.hardlink_to(source)
        except FileExistsError:
            raise
        except OSError:
            how = "copy"
            _copy(source, target)
    sync_directory(target.parent)
    return how


def digest_of(path: Path, *, at_most: int | None = None) -> str:
    """The sha256 of a file of at most so many bytes, in hex; raises `OSError`."""
    with reading(path, at_most=at_most) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reflink(source: Path, target: Path) -> bool:
    with reading(source) as read, target.open("xb") as write:
        try:
            fcntl.ioctl(write.fileno(), _FICLONE, read.fileno())
        except OSError:
            target.unlink()
            return False
        os.fsync(write.fileno())
        return True


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
        sync_file(target)
    except OSError:
        target.unlink(missing_ok=True)
        raise
