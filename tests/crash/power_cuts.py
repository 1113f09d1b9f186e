"""`python -m tests.crash.power_cuts`: the power is cut under a real file system, which is mounted
again, and the trainer is started again: nothing that was promised is lost.

Trainings and pivots are run once, on a disk that records what it is told. For each cut a disk is
made of what had been flushed, and of a drawn part of what had not.

A file system may refuse to mount when the disk tore one of its own blocks of 4,096 bytes: btrfs
does for its superblock. Such a cut is told, and made again with whole blocks.
"""

import argparse
import contextlib
import filecmp
import functools
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.cut_disk import BLOCK_BYTES, Cut, cut_off, sectors_of, surviving, write_to
from tests.crash.disk_workload import (
    Checker,
    make_runs,
    use_runs,
    without_fsync,
    written_back_at_times,
)
from tests.crash.mounts import (
    FILE_SYSTEMS,
    MountRefusedError,
    UnavailableError,
    copy_image,
    make_file_system,
    mounted,
    recorded_disk,
    require_what_it_takes,
)
from tests.crash.recorded_disk import (
    MARKS,
    BlockWrite,
    Event,
    Flush,
    Mark,
    read_trace,
    tell_mark,
)
from tests.crash.workload import make_truth

_EXIT_UNAVAILABLE = 77


@dataclass(kw_only=True)
class Tally:
    """What cuts were made, and what they cost."""

    cuts: int = 0
    partial: int = 0
    """Cuts that took some or all of what had not been flushed."""
    refused: list[str] = field(default_factory=list)
    """Disks that the file system would not mount: for a torn block of its own, or they are lost."""
    lost: list[str] = field(default_factory=list)
    """A line a cut."""


class PowerCuts:
    """One recording, cut as often as is asked."""

    def __init__(self, kind: str, folder: Path, seed: int) -> None:
        self.tally = Tally()
        self._kind = kind
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._mountpoint = folder / "mounted"
        self._mountpoint.mkdir()
        self._base = folder / "base"

    def record(self, *, is_synced: bool) -> list[Event]:
        """What the disk is told while runs are trained and pivoted; without fsync, if so asked."""
        self._make_base()
        image, served, trace = (self._folder / name for name in ("image", "served", "trace"))
        copy_image(self._base, image)
        served.mkdir()
        with (
            recorded_disk(image, served, trace) as disk,
            mounted(self._kind, disk, self._mountpoint),
        ):
            self._use_runs(served / MARKS, is_synced=is_synced)
        events = list(read_trace(trace))
        self._require_complete(events, image)
        return events

    def _make_base(self) -> None:
        make_file_system(self._kind, self._base)
        try:
            with mounted(self._kind, self._base, self._mountpoint):
                make_runs(self._mountpoint)
        except MountRefusedError as error:
            raise UnavailableError(f"a new {self._kind} can't be mounted here: {error}") from error

    def _require_complete(self, trace: list[Event], image: Path) -> None:
        """Raise `AssertionError` unless the writes recorded make the image what it is."""
        again = self._folder / "again"
        copy_image(self._base, again)
        write_to(again, (event for event in trace if isinstance(event, BlockWrite)))
        assert filecmp.cmp(again, image, shallow=False), "a write to the disk was not recorded"
        again.unlink()

    def _use_runs(self, marks: Path, *, is_synced: bool) -> None:
        def tell(run: str, what: int) -> None:
            tell_mark(marks, Mark(run, what))

        with (
            written_back_at_times(self._mountpoint, self._chance),
            contextlib.nullcontext() if is_synced else without_fsync(),
        ):
            use_runs(self._mountpoint, tell)

    def cut(self, trace: list[Event], n_cuts: int, checker: Checker) -> None:
        """Cut at so many drawn writes."""
        n_writes = sum(isinstance(event, BlockWrite) for event in trace)
        drawn = [self._chance.randint(1, n_writes) for _ in range(n_cuts)]
        for cut in cut_off(self._base, trace, drawn):
            self._check(cut, checker)

    def _check(self, cut: Cut, checker: Checker) -> None:
        self.tally.cuts += 1
        where = f"cut {self.tally.cuts}, at write {cut.n_writes:,}"
        draw = functools.partial(surviving, cut.unflushed, f"{self._seed} {self.tally.cuts}")
        self.tally.partial += len(draw()) < len(sectors_of(cut.unflushed))
        try:
            try:
                losses = self._losses(draw(), cut, checker)
            except MountRefusedError as error:
                self.tally.refused.append(f"{where}, refused: {error}")
                losses = self._losses(draw(BLOCK_BYTES), cut, checker)
        except MountRefusedError as error:
            losses = [f"refused with whole blocks, too: {error}"]
        if losses:
            self.tally.lost.append(f"{where}: {'; '.join(losses)}")

    def _losses(self, survivors: list[BlockWrite], cut: Cut, checker: Checker) -> list[str]:
        image = self._folder / "cut"
        copy_image(self._base, image)
        write_to(image, survivors)
        try:
            with mounted(self._kind, image, self._mountpoint):
                return checker.losses(self._mountpoint, cut.promised)
        finally:
            image.unlink()


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.power_cuts", description=__doc__)
    parser.add_argument("--filesystem", choices=FILE_SYSTEMS, default="ext4")
    parser.add_argument("--cuts", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument(
        "--no-fsync", action="store_true", help="the trainer syncs nothing: losses must be found"
    )
    return parser.parse_args()


def main() -> int:
    arguments = _parsed()
    kind, started = arguments.filesystem, time.monotonic()
    try:
        require_what_it_takes(kind)
        with (
            tempfile.TemporaryDirectory() as name,
            Path(os.devnull).open("w") as nowhere,
            contextlib.redirect_stdout(nowhere),  # what the trainers say
        ):
            cuts, trace = _cut_power(kind, Path(name), arguments)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return _EXIT_UNAVAILABLE
    _tell(kind, trace, cuts.tally, time.monotonic() - started)
    return 1 if cuts.tally.lost else 0


def _cut_power(
    kind: str, folder: Path, arguments: argparse.Namespace
) -> tuple[PowerCuts, list[Event]]:
    truth = make_truth(folder / "truth")
    cuts = PowerCuts(kind, folder, arguments.seed)
    trace = cuts.record(is_synced=not arguments.no_fsync)
    scratch = folder / "scratch"
    scratch.mkdir()
    cuts.cut(trace, arguments.cuts, Checker(scratch, truth))
    return cuts, trace


def _tell(kind: str, trace: list[Event], tally: Tally, seconds: float) -> None:
    print("\n".join(tally.lost + tally.refused))
    n_writes, n_flushes = (sum(isinstance(e, k) for e in trace) for k in (BlockWrite, Flush))
    print(
        f"{kind}, Linux {os.uname().release}: {n_writes:,} writes and {n_flushes:,} flushes;"
        f" {tally.cuts} cuts, {tally.partial} of them took unflushed sectors:"
        f" {len(tally.lost)} lost what was promised,"
        f" {len(tally.refused)} were refused for a torn block; {seconds:.0f} s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    sys.exit(main())
