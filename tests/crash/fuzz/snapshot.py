"""What lies in a folder, down to the bytes: to see that nobody wrote where he may not."""

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_HASHED_BYTES = 16 << 20
"""A larger file is told by size and time alone."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name: what it is, and for all but folders its time and content."""

    mode: int
    n_bytes: int = 0
    mtime_ns: int = 0
    content: bytes = b""


def snapshot(root: Path, *, but: Iterable[Path] = ()) -> dict[bytes, Entry]:
    """Path → entry of everything below `root`; what is below one of `but` is left out."""
    found: dict[bytes, Entry] = {}
    ignored = {os.fsencode(path) for path in but}
    folders = [os.fsencode(root)]
    while folders:
        for item in os.scandir(folders.pop()):
            if item.path in ignored:
                continue
            seen = item.stat(follow_symlinks=False)
            if stat.S_ISDIR(seen.st_mode):
                folders.append(item.path)
                found[item.path] = Entry(seen.st_mode)
            else:
                content = _content(item)
                found[item.path] = Entry(seen.st_mode, seen.st_size, seen.st_mtime_ns, content)
    return found


def _content(item: os.DirEntry[bytes]) -> bytes:
    if item.is_symlink():
        return os.readlink(item.path)  # noqa: PTH115 - a name of any bytes
    if not item.is_file() or item.stat().st_size > _HASHED_BYTES:
        return b""
    with open(item.path, "rb") as file:  # noqa: PTH123 - the same
        return hashlib.sha256(file.read()).digest()


def differences(before: dict[bytes, Entry], after: dict[bytes, Entry]) -> list[str]:
    """In words, by name."""
    words = []
    for path in sorted(before.keys() | after.keys()):
        name = path.decode(errors="backslashreplace")
        if path not in after:
            words.append(f"{name} is gone")
        elif path not in before:
            words.append(f"{name} is new")
        elif before[path] != after[path]:
            words.append(f"{name} is another")
    return words
