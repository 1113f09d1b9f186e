"""From a trace of file operations to the directories that a crash may leave.

After Pillai et al.: All File Systems Are Not Created Equal (OSDI 2014). What was synced before the
crash is there. Of what was not, each write may be there whole, in part, as zeros or not at all,
and each change of the directory may be there or not, whatever came later; a rename is atomic.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import product

from tests.crash.recording import (
    Enter,
    Operation,
    Remove,
    Resize,
    SyncDirectory,
    SyncFile,
    Write,
)

Directory = dict[str, bytes]
_WHOLE, _LOST, _HALF, _ZEROS = "whole", "lost", "half", "zeros"
_FATES = (_WHOLE, _LOST, _HALF, _ZEROS)
_SIDE = (".state.json", "trainer.lock")
"""Names that no resume depends on: their fates are drawn, not enumerated."""


def states_after(
    trace: Sequence[Operation], n_done: int, *, at_most: int, seed: int
) -> Iterator[Directory]:
    """Directories that a crash after the first `n_done` operations may leave, at most so many.

    All combinations where they are that few, else the two extremes, each single loss, and a
    seeded draw of the rest.
    """
    disk = _Disk(trace[:n_done])
    chance = random.Random(f"{seed} {n_done}")
    core = [n for n, change in enumerate(disk.pending_changes) if not _is_side(change)]
    for chosen in _choices([(True, False)] * len(core), at_most, chance):
        kept = {number for number, is_kept in zip(core, chosen, strict=True) if is_kept}
        drawn = chance.choice((0.0, 0.5, 1.0))
        kept |= {
            n
            for n, change in enumerate(disk.pending_changes)
            if _is_side(change) and chance.random() < drawn
        }
        yield from _with_fates(disk, disk.names(kept), at_most, chance)


def _with_fates(
    disk: "_Disk", names: dict[str, int], at_most: int, chance: random.Random
) -> Iterator[Directory]:
    """Each fate of the unsynced writes to the files that have a name a reader looks at."""
    core = sorted({i for name, i in names.items() if not _is_beside(name)})
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
    total = 1
    for option in options:
        total *= len(option)
        if total > at_most:
            break
    else:
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


def _is_side(change: Enter | Remove) -> bool:
    return _is_beside(change.name) or change.name.startswith(_SIDE)


def _is_beside(name: str) -> bool:
    return name.endswith(".partial") or name.startswith(_SIDE)


def final(trace: Sequence[Operation]) -> Directory:
    """The directory with every operation done."""
    disk = _Disk(trace)
    names = disk.names(set(range(len(disk.pending_changes))))
    return {
        name: disk.content(ino, [_WHOLE] * len(disk.pending_writes.get(ino, ())))
        for name, ino in names.items()
    }


class _Disk:
    """What is durable, and what is pending, after some operations."""

    def __init__(self, trace: Sequence[Operation]) -> None:
        self.pending_changes: list[Enter | Remove] = []
        self.pending_writes: dict[int, list[Write | Resize]] = {}
        self._contents: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        for operation in trace:
            self._take(operation)

    def _take(self, operation: Operation) -> None:
        match operation:
            case Write() | Resize():
                self.pending_writes.setdefault(operation.ino, []).append(operation)
            case Enter() | Remove():
                self.pending_changes.append(operation)
            case SyncFile(ino=ino):
                whole = [_WHOLE] * len(self.pending_writes.get(ino, ()))
                self._contents[ino] = self.content(ino, whole)
                self.pending_writes.pop(ino, None)
            case SyncDirectory():
                self._names = self.names(set(range(len(self.pending_changes))))
                self.pending_changes = []

    def names(self, kept: set[int]) -> dict[str, int]:
        """Name → inode, with these of the pending changes."""
        names = dict(self._names)
        for number, change in enumerate(self.pending_changes):
            if number not in kept:
                continue
            if isinstance(change, Remove):
                names.pop(change.name, None)
            else:
                names.pop(change.source, None)
                names[change.name] = change.ino
        return names

    def content(self, ino: int, fates: Sequence[object]) -> bytes:
        """The inode's bytes, with these fates of its pending writes."""
        data = bytearray(self._contents.get(ino, b""))
        for operation, fate in zip(self.pending_writes.get(ino, ()), fates, strict=True):
            if isinstance(operation, Resize):
                _resize(data, operation, fate)
            else:
                _write(data, operation, fate)
        return bytes(data)


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
