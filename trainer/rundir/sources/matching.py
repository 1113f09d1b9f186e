"""Find the files that a glob names: folders walked once each, whatever links lead to them."""

import errno
import fnmatch
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

_MAGIC = re.compile(r"[*?[]")


def never() -> None:
    """A `check` of somebody who does not give up."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was found; of a hundred thousand a `Path` each would be half the time."""

    path: str
    is_link: bool
    facts: os.stat_result | None
    """`None`: it was gone again, or can't be looked at."""

    @property
    def identity(self) -> object:
        """The same for two names of one file; of file systems without inodes, the name."""
        if self.facts is None or not self.facts.st_ino:
            return self.path
        return self.facts.st_dev, self.facts.st_ino


def found_at(path: Path) -> Found:
    """The file that a name leads to."""
    try:
        return Found(str(path), path.is_symlink(), path.stat())
    except OSError:  # whoever reads it says so
        return Found(str(path), False, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What a glob names."""

    found: tuple[Found, ...]
    """In the order of their names; one that has several names (links) once."""
    unreadable: tuple[Path, ...] = ()
    """Folders that could not be looked into: what lies in them is not in `files`."""
    is_folder: bool = False
    """All that lies in a folder: what is no text may be left out."""

    @property
    def files(self) -> Iterator[Path]:
        """Those that were found, in their order."""
        return (Path(file.path) for file in self.found)


def match_files(base: Path, pattern: str, check: Callable[[], None] = never) -> Matched:
    """The regular files that `pattern` names, relative to `base`.

    As in a shell: `**` goes into folders of any depth, also through links, hidden names are named
    by a pattern with a dot only. `check` is called all the time and may raise to give up.
    """
    walk = Walk(check)
    by_identity: dict[object, Found] = {}
    by_name = sorted(walk.found(base, pattern), key=attrgetter("path"))
    # a file that a link names, too, goes by its own name
    for file in sorted(by_name, key=attrgetter("is_link")):
        check()
        by_identity.setdefault(file.identity, file)
    found = tuple(sorted(by_identity.values(), key=attrgetter("path")))
    return Matched(found=found, unreadable=tuple(sorted(walk.unreadable, key=str)))


class Walk:
    """One walk through the folders that a pattern leads to."""

    def __init__(self, check: Callable[[], None] = never) -> None:
        self.unreadable: set[Path] = set()
        self._check = check
        self._last: tuple[Path, list[os.DirEntry[str]]] | None = None

    def files(self, base: Path, pattern: str) -> Iterator[Path]:
        """Each file as it is found, in no order; one with two names twice."""
        return (Path(file.path) for file in self.found(base, pattern))

    def found(self, base: Path, pattern: str) -> Iterator[Found]:
        """As `files`, with what is known of each."""
        return self._match(base, Path(pattern).parts)

    def _match(self, at: Path, parts: tuple[str, ...]) -> Iterator[Found]:
        self._check()
        if not parts:
            if self._is_file(at):
                yield found_at(at)
            return
        part, rest = parts[0], parts[1:]
        if part == "**":
            while rest[:1] == ("**",):
                rest = rest[1:]
            for folder in self._folders(at):
                yield from self._match(folder, rest or ("*",))
        elif _MAGIC.search(part):
            is_named = _naming(part)
            for entry in self._entries(at):
                if not is_named(entry.name):
                    continue
                if rest:
                    yield from self._match(Path(entry.path), rest)
                elif (found := self._found(entry)) is not None:
                    yield found
        else:
            yield from self._match(at / part, rest)

    def _folders(self, top: Path) -> Iterator[Path]:
        """The folder and all below it, each once; what links lead to after what lies there."""
        seen: set[tuple[int, int]] = set()
        linked = deque([top])
        while linked:
            below = [linked.popleft()]
            while below:
                folder = below.pop()
                if not _is_new(folder, seen):
                    continue
                links, inside = _leading_on(self._entries(folder))
                linked.extend(links)
                below.extend(reversed(inside))
                yield folder

    def _found(self, entry: os.DirEntry[str]) -> Found | None:
        """The file that a folder's entry leads to, in one look; `None`: it is none."""
        self._check()
        try:
            if entry.is_file():
                # a folder `.` gives its entries a name that no path has
                return Found(entry.path.removeprefix("./"), entry.is_symlink(), entry.stat())
        except FileNotFoundError:  # gone since
            return None
        except OSError as error:
            if error.errno != errno.ELOOP:  # a link to itself leads nowhere
                self.unreadable.add(Path(entry.path).parent)
        return None

    def _is_file(self, path: Path) -> bool:
        try:
            return path.is_file()
        except OSError:
            self.unreadable.add(path.parent)
            return False

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What lies in a folder, by name; the one that was asked for last isn't read again."""
        if self._last is None or self._last[0] is not folder:
            self._last = folder, self._read(folder)
        return self._last[1]

    def _read(self, folder: Path) -> list[os.DirEntry[str]]:
        found = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._check()
                    found.append(entry)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self.unreadable.add(folder)
        return sorted(found, key=attrgetter("name"))


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        found = folder.stat()
    except OSError:  # a link to nowhere, or to itself
        return False
    identity = (found.st_dev, found.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _leading_on(entries: list[os.DirEntry[str]]) -> tuple[list[Path], list[Path]]:
    """The links and the folders among them that are not hidden."""
    links, folders = [], []
    for entry in entries:
        if entry.is_symlink():
            links.append(entry)
        elif entry.is_dir(follow_symlinks=False):
            folders.append(entry)
    return _paths(links), _paths(folders)


def _paths(entries: list[os.DirEntry[str]]) -> list[Path]:
    return [Path(entry.path) for entry in entries if not entry.name.startswith(".")]


def _naming(pattern: str) -> Callable[[str], bool]:
    """Whether a name is one that the pattern means."""
    match = re.compile(fnmatch.translate(pattern)).match
    takes_hidden = pattern.startswith(".")
    return lambda name: (takes_hidden or not name.startswith(".")) and match(name) is not None
