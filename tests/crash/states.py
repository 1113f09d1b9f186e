"""From a trace of file operations to the directories that a crash may leave.

After Pillai et al.: All File Systems Are Not Created Equal (OSDI 2014). What was synced before the
crash is there. Of what was not, each write may be there whole, in part, as zeros or not at all,
and each change of the directory may be there or not, whatever came later; a rename is atomic.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from tests.crash.recording import (
    ROOT,
    Enter,
    Operation,
    Remove,
    Resize,
    SyncDirectory,
    SyncFile,
    Write,
)

Directory = dict[str, bytes]
"""Path → bytes; a directory below has a path that ends in a slash, and no bytes."""
_WHOLE, _LOST, _HALF, _ZEROS = "whole", "lost", "half", "zeros"
_FATES = (_WHOLE, _LOST, _HALF, _ZEROS)
_SIDE = (".state.json", "trainer.lock")
"""Names that no resume depends on: their fates are drawn, not enumerated."""


def _is_beside(name: str) -> bool:
    return name.endswith(".partial") or name.startswith(_SIDE)


def states_after(
    trace: Sequence[Operation],
    n_done: int,
    *,
    at_most: int,
    seed: int,
    is_side: Callable[[str], bool] = _is_beside,
) -> Iterator[Directory]:
    """Directories that a crash after the first `n_done` operations may leave, at most so many.

    All combinations where they are that few or `at_most` is 0, else the two extremes, each single
    loss, and a seeded draw of the rest. `is_side`: names whose fates are drawn, not enumerated.
    """
    disk = _Disk(trace[:n_done])
    chance = random.Random(f"{seed} {n_done}")
    core = [n for n, change in enumerate(disk.pending_changes) if not is_side(change.name)]
    for chosen in _choices([(True, False)] * len(core), at_most, chance):
        kept = {number for number, is_kept in zip(core, chosen, strict=True) if is_kept}
        drawn = chance.choice((0.0, 0.5, 1.0))
        kept |= {
            n
            for n, change in enumerate(disk.pending_changes)
            if is_side(change.name) and chance.random() < drawn
        }
        yield from _with_fates(disk, disk.names(kept), at_most, chance, is_side)


def _with_fates(
    disk: "_Disk",
    names: dict[str, int],
    at_most: int,
    chance: random.Random,
    is_side: Callable[[str], bool],
) -> Iterator[Directory]:
    """Each fate of the unsynced writes to the files that have a name a reader looks at."""
    core = sorted({i for name, i in names.items() if not is_side(name.rpartition("/")[2])})
    writes = [(ino, n) for ino in core for n in range(len(disk.pending_writes.get(ino, ())))]
    for fates in _choices([_FATES] * len(writes), at_most, chance):
        told = dict(zip(writes, fates, strict=True))
        yield {
            name: disk.content(
                ino,
                [
                    told.get((ino, n)) or chance.choice(_FATES)
                    for n in range(len(disk.pending_writes.get(ino, ())))
                ],
            )
            for name, ino in names.items()
        }


def _choices(
    options: Sequence[tuple[object, ...]], at_most: int, chance: random.Random
) -> Iterator[tuple[object, ...]]:
    if not at_most or math.prod(map(len, options)) <= at_most:
        yield from product(*options)
        return
    first = tuple(option[0] for option in options)
    yield first
    yield tuple(option[1] for option in options)
    n_singles = max(at_most // 2, 1)
    for place in range(len(options))[-n_singles:]:
        other = chance.choice(options[place][1:])
        yield (*first[:place], other, *first[place + 1 :])
    for _ in range(at_most // 2):
        yield tuple(chance.choice(option) for option in options)


def final(trace: Sequence[Operation]) -> Directory:
    """The directory with every operation done."""
    disk = _Disk(trace)
    names = disk.names(set(range(len(disk.pending_changes))))
    return {
        name: disk.content(ino, [_WHOLE] * len(disk.pending_writes.get(ino, ())))
        for name, ino in names.items()
    }


def read_tree(directory: Path, *, ignored: str = "") -> Directory:
    """A real directory as the states are; without what lies below the name `ignored`."""
    tree: Directory = {}
    for path in directory.rglob("*"):
        name = str(path.relative_to(directory))
        if ignored and name.partition("/")[0] == ignored:
            continue
        tree[f"{name}/" if path.is_dir() else name] = b"" if path.is_dir() else path.read_bytes()
    return tree


class _Disk:
    """What is durable, and what is pending, after some operations."""

    def __init__(self, trace: Sequence[Operation]) -> None:
        self.pending_changes: list[Enter | Remove] = []
        self.pending_writes: dict[int, list[Write | Resize]] = {}
        self._contents: dict[int, bytes] = {}
        self._names: dict[tuple[int, str], int] = {}
        self._directories: set[int] = set()
        for operation in trace:
            self._take(operation)

    def _take(self, operation: Operation) -> None:
        match operation:
            case Write() | Resize():
                self.pending_writes.setdefault(operation.ino, []).append(operation)
            case Enter() | Remove():
                if isinstance(operation, Enter) and operation.is_directory:
                    self._directories.add(operation.ino)
                self.pending_changes.append(operation)
            case SyncFile(ino=ino):
                whole = [_WHOLE] * len(self.pending_writes.get(ino, ()))
                self._contents[ino] = self.content(ino, whole)
                self.pending_writes.pop(ino, None)
            case SyncDirectory(directory=directory):
                self._sync(directory)

    def _sync(self, directory: int) -> None:
        waiting = []
        for change in self.pending_changes:
            if change.directory != directory or not _apply(change, self._names):
                waiting.append(change)
        self.pending_changes = waiting

    def names(self, kept: set[int]) -> dict[str, int]:
        """Path → inode, with these of the pending changes."""
        names = dict(self._names)
        for number, change in enumerate(self.pending_changes):
            if number in kept:
                _apply(change, names)
        return dict(self._below(ROOT, "", names))

    def _below(
        self, directory: int, prefix: str, names: dict[tuple[int, str], int]
    ) -> Iterator[tuple[str, int]]:
        for (parent, name), ino in names.items():
            if parent != directory:
                continue
            if ino in self._directories:
                yield f"{prefix}{name}/", ino
                yield from self._below(ino, f"{prefix}{name}/", names)
            else:
                yield prefix + name, ino

    def content(self, ino: int, fates: Sequence[object]) -> bytes:
        """The inode's bytes, with these fates of its pending writes."""
        data = bytearray(self._contents.get(ino, b""))
        for operation, fate in zip(self.pending_writes.get(ino, ()), fates, strict=True):
            if isinstance(operation, Resize):
                _resize(data, operation, fate)
            else:
                _write(data, operation, fate)
        return bytes(data)


def _apply(change: Enter | Remove, names: dict[tuple[int, str], int]) -> bool:
    """False if it can't be: a rename into another directory takes no name away before it gives
    the other.
    """
    here = (change.directory, change.name)
    if isinstance(change, Enter):
        names.pop((change.directory, change.source), None)
        names[here] = change.ino
    else:
        if change.moved is not None and list(names.values()).count(change.moved) < 2:
            return False
        names.pop(here, None)
    return True


def _resize(data: bytearray, operation: Resize, fate: object) -> None:
    if fate == _LOST:
        return
    if len(data) < operation.size:
        data.extend(bytes(operation.size - len(data)))
    elif not operation.only_grows:
        del data[operation.size :]


def _write(data: bytearray, operation: Write, fate: object) -> None:
    written = operation.data
    if fate == _LOST:
        return
    if fate == _HALF:
        written = written[: len(written) // 2]
    end = operation.offset + len(written)
    n_new = max(0, end - len(data))
    data.extend(bytes(n_new))
    if fate == _ZEROS:  # the new size is there, the new blocks are not
        written = written[: len(written) - n_new] if n_new < len(written) else b""
        end = operation.offset + len(written)
    data[operation.offset : end] = written
