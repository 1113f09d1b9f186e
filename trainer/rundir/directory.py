"""A run's directory held open: it stays the same one, whatever becomes of its name.

Paths below `/proc/self/fd/N` are looked up from the open directory by the kernel: every open,
rename and listing then reaches it, renamed or not, and never another that has taken its name.
"""

import os
import re
import weakref
from pathlib import Path

from trainer.rundir.layout import RunDirectory

_ANCHOR = "/proc/self/fd/"
_ANCHORED = re.compile(rf"{_ANCHOR}(\d+)")
_DELETED = " (deleted)"


class HeldDirectory:
    """An open directory; closed with the object, at the latest."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError`, where there is none to open."""
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self._fd)
        self._known = os.fstat(self._fd)
        self.run = RunDirectory(Path(f"{_ANCHOR}{self._fd}"))
        """The run by paths that lead to this directory only, in this process only."""
        self.opened_as = path if (found := self.where()) is None else found

    def is_at(self, path: Path) -> bool:
        """Whether `path` leads here."""
        try:
            return os.path.samestat(path.stat(), self._known)
        except OSError:
            return False

    def where(self) -> Path | None:
        """Its present name; `None`: it is deleted, or has none that can be seen from here."""
        name = self.run.path.readlink()
        return name if self.is_at(name) else None

    @property
    def is_deleted(self) -> bool:
        return self.where() is None and self.run.path.readlink().name.endswith(_DELETED)


def with_names(text: str) -> str:
    """A message in which paths of a held directory are those that a person can use."""
    return _ANCHORED.sub(_name, text)


def _name(anchored: re.Match[str]) -> str:
    try:
        return str(Path(anchored[0]).readlink())
    except OSError:
        return anchored[0]
