"""Opening files of a run: a regular file, or an error that names what stands there instead.

A FIFO would hang whoever opens it, a device may act on being opened, and anybody can have put one
there. Links: what is only read, or is replaced whole, may be a link to a regular file (people
keep checkpoints and tokens on another disk). What is written in place has to be the run's own.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from trainer.rundir.layout import RunDirectory

SMALL_BYTES = 16 << 20
"""Of settings, state, journals, the lock: more is none of them."""
TOKENIZER_BYTES = 256 << 20
RECORDS_BYTES = 1 << 30
"""Of an array of records, read whole: some four million steps."""

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}


class NotRegularError(OSError):
    """What stands under the name can't be taken for a file of the run; never waited for."""


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follows_links: bool = True) -> int:
    """A descriptor of a regular file, made (0644) where the flags say so; at once, never waiting.

    Raises `NotRegularError`, or the `OSError` of the call.
    """
    what = ""
    try:
        what = _kind_of(path.stat(follow_symlinks=follows_links))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    if what:
        raise NotRegularError(errno.EINVAL, what, str(path))
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows_links else os.O_NOFOLLOW)
    fd = os.open(path, flags, 0o644)
    what = _kind_of(os.fstat(fd))  # it may have been replaced since it was looked at
    if what:
        os.close(fd)
        raise NotRegularError(errno.EINVAL, what, str(path))
    return fd


@contextmanager
def reading(
    path: Path, *, at_most: int | None = None, follows_links: bool = True
) -> Iterator[FileIO]:
    """The file, of at most so many bytes, unbuffered, as long as it is needed; raises `OSError`."""
    fd = open_regular(path, follows_links=follows_links)
    try:
        size = os.fstat(fd).st_size
        if at_most is not None and size > at_most:
            what = f"holds {size:,} bytes; more than {at_most:,} can't be what it is named"
            raise OSError(errno.EFBIG, what, str(path))
        with FileIO(fd, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(fd)


def read_head(path: Path, n_bytes: int) -> tuple[bytes, os.stat_result]:
    """The first bytes of a file, and what the system tells of it; raises `OSError`."""
    fd = open_regular(path)
    try:
        return os.read(fd, n_bytes), os.fstat(fd)
    finally:
        os.close(fd)


def read_file(path: Path, *, at_most: int = SMALL_BYTES, follows_links: bool = True) -> bytes:
    """All of a file of at most so many bytes; raises `OSError`."""
    with reading(path, at_most=at_most, follows_links=follows_links) as file:
        return file.read()


def has_other_names(path: Path) -> bool:
    """Whether the file is written under other names (hard links), too; false where there is none.

    Raises `OSError`.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def why_not_regular(path: Path, *, follows_links: bool = True) -> str:
    """What stands there in place of a file, in words; empty for a file, or nothing at all."""
    try:
        return _kind_of(path.stat(follow_symlinks=follows_links))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)


def strangers_in(run: RunDirectory) -> list[str]:
    """Each name of the run's own files under which something else stands, in words."""
    in_place = (run.loss, run.samples, run.lock, run.actions)
    others = (run.settings, run.tokenizer, run.state, run.pivot, run.fork, run.log)
    found = {path: why_not_regular(path, follows_links=False) for path in in_place}
    found |= {path: why_not_regular(path) for path in others}
    return [f"{path.name} {what}" for path, what in found.items() if what]


def _kind_of(found: os.stat_result) -> str:
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG:
        return ""
    mend = "put the file itself there" if kind == stat.S_IFLNK else "move it away"
    return f"is {_KINDS.get(kind, 'something else')}, not a file; {mend}"
