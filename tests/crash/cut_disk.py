"""What a power cut leaves of a recorded disk.

What was written before the last flush is there. Of what was written since, a drawn part is: in
the order in which it was written, up to a sector; or in any order, some writes torn, each sector
being there or not.
"""

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.crash.recorded_disk import BlockWrite, Event, Mark

SECTOR_BYTES = 512
BLOCK_BYTES = 4096
"""Of the file systems; and what most disks of today write whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The power failed during a write: what had been said by then, and what was not safe."""

    n_writes: int
    """The number of the write, which is the last of the unflushed."""
    promised: Mapping[str, Sequence[int]]
    """Run → what was promised of it, in order."""
    unflushed: Sequence[BlockWrite]


def cut_off(image: Path, trace: Sequence[Event], at_writes: Iterable[int]) -> Iterator[Cut]:
    """A cut at each of these writes, numbered from 1, in ascending order.

    When it is given, the image holds what had been flushed.
    """
    promised: dict[str, list[int]] = {}
    unflushed: list[BlockWrite] = []
    waiting = Counter(at_writes)
    n_writes = 0
    for event in trace:
        if isinstance(event, BlockWrite):
            unflushed.append(event)
            n_writes += 1
            told = {run: tuple(what) for run, what in promised.items()}
            cut = Cut(n_writes=n_writes, promised=told, unflushed=tuple(unflushed))
            yield from [cut] * waiting[n_writes]
        elif isinstance(event, Mark):
            promised.setdefault(event.run, []).append(event.what)
        else:
            write_to(image, unflushed)
            unflushed.clear()


def sectors_of(writes: Iterable[BlockWrite], unit_bytes: int = SECTOR_BYTES) -> list[BlockWrite]:
    """The writes, cut where the disk may tear them: into units that it writes whole or not."""
    return [unit for write in writes for unit in _units(write, unit_bytes)]


def _units(write: BlockWrite, unit_bytes: int) -> Iterator[BlockWrite]:
    start, n_bytes = 0, len(write.data)
    while start < n_bytes:
        end = min(start + unit_bytes - (write.offset + start) % unit_bytes, n_bytes)
        yield BlockWrite(write.offset + start, write.data[start:end])
        start = end


def surviving(
    unflushed: Sequence[BlockWrite], seed: str, unit_bytes: int = SECTOR_BYTES
) -> list[BlockWrite]:
    """A draw of the units of these writes that are on the disk, in the order of writing.

    A seed keeps the same writes whatever the unit is; which are torn, and about where.
    """
    chance = random.Random(seed)
    if chance.random() < 0.5:
        units = sectors_of(unflushed, unit_bytes)
        return units[: round(chance.random() * len(units))]
    share = chance.random()
    kept: list[BlockWrite] = []
    for write in unflushed:
        is_kept, is_torn, tears = chance.random() < share, chance.random() < 0.25, chance.random()
        if is_kept:
            by_unit = random.Random(tears)
            units = sectors_of([write], unit_bytes)
            kept += [unit for unit in units if not is_torn or by_unit.random() < 0.5]
    return kept


def write_to(image: Path, writes: Iterable[BlockWrite]) -> None:
    fd = os.open(image, os.O_WRONLY)
    try:
        for write in writes:
            os.pwrite(fd, write.data, write.offset)
    finally:
        os.close(fd)
