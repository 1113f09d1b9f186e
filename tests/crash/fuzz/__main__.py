"""`python -m tests.crash.fuzz`: run directories mutated at random, put to verbs, console, trainer.

No traceback, no hang, no write outside the run, strict JSON on stdout, a defined exit code,
no control characters on stderr. Each case follows from the seed and its number.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path

import trainer.session  # noqa: F401 - loaded once, before the cases are forked
from tests.crash.fuzz.bases import make_bases
from tests.crash.fuzz.cases import Arena, Case
from tests.crash.fuzz.child import adopt_orphans, end_orphans, run_limited
from trainer.rundir.layout import RunDirectory

_ORPHAN_SECONDS = 5.0
_BASES_SECONDS = 120.0
_SHOWN_NUMBERS = 8

Found = dict[tuple[str, str], list[Case]]
"""(kind, where) → the cases in which it was wrong."""


def laid_out_bases(folder: Path) -> dict[str, RunDirectory]:
    """The base runs, made in a child: who has trained can't be forked safely."""
    folder.mkdir()

    def make() -> int:
        make_bases(folder)
        return 0

    ended = run_limited(make, folder.parent, limit_seconds=_BASES_SECONDS)
    assert ended.code == 0, ended.stderr.decode()
    return {path.name: RunDirectory(path) for path in folder.iterdir() if path.is_dir()}


def explore(folder: Path, numbers: range, seed: int, jobs: int) -> Generator[Case, None, None]:
    """Each case, as it is done, by so many processes."""
    bases = laid_out_bases(folder / "bases")
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, initializer=_begin, initargs=(folder, bases, seed)) as pool:
        yield from pool.imap_unordered(_try, numbers, chunksize=4)


def _begin(folder: Path, bases: dict[str, RunDirectory], seed: int) -> None:
    adopt_orphans()
    arena = Arena(folder=folder / f"arena-{os.getpid()}", bases=bases)
    _lane.update(arena=arena, seed=seed)


_lane: dict[str, object] = {}
"""Of this process: its arena and the seed."""


def _try(number: int) -> Case:
    arena, seed = _lane["arena"], _lane["seed"]
    assert isinstance(arena, Arena)
    assert isinstance(seed, int)
    return arena.try_case(seed, number)


def collect(cases: Iterable[Case], *, until: float) -> tuple[int, Found]:
    """How many cases were done until that (monotonic) moment, and what was wrong."""
    found: Found = defaultdict(list)
    n_cases = 0
    for n_cases, case in enumerate(cases, 1):
        for wrong in case.wrong:
            key = (wrong.kind, wrong.where)
            if key not in found:
                told = f"{n_cases:,} cases: number {case.number}: {wrong.kind}: {wrong.where}"
                print(told.encode(errors="backslashreplace").decode(), file=sys.stderr, flush=True)
            found[key].append(case)
        if time.monotonic() > until:
            break
    return n_cases, found


def report(found: Found, seed: int) -> str:
    """Each distinct fault with its first case and how to run that alone."""
    lines = []
    for (kind, where), cases in sorted(found.items(), key=lambda item: -len(item[1])):
        first = min(cases, key=lambda case: (len(case.mutations), case.number))
        detail = next(w.detail for w in first.wrong if (w.kind, w.where) == (kind, where))
        numbers = ", ".join(str(case.number) for case in cases[:_SHOWN_NUMBERS])
        lines += [
            f"=== {kind}: {where} ({len(cases)} cases: {numbers})",
            f"    of a run that was {first.base}: {'; '.join(first.mutations)}",
            f"    {' '.join(first.command)!r}, after {first.seconds:.1f} s",
            f"    python -m tests.crash.fuzz --seed {seed} --only {first.number}",
            *(f"    | {line}" for line in detail.splitlines()[-12:]),
        ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="how many (1000)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of what is drawn (0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number to begin with")
    parser.add_argument("--only", type=int, metavar="CASE", help="this case alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (all cores)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.cases)
    if arguments.only is not None:
        numbers = range(arguments.only, arguments.only + 1)
    began = time.monotonic()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as name:
        cases = explore(Path(name).resolve(), numbers, arguments.seed, arguments.jobs)
        n_cases, found = collect(cases, until=began + arguments.seconds)
        cases.close()
        end_orphans(_ORPHAN_SECONDS)  # of workers that were ended within a case
    words = report(found, arguments.seed)
    if words:
        print(words.encode(errors="backslashreplace").decode())
    seconds = time.monotonic() - began
    print(f"{n_cases:,} cases in {seconds:.0f} s: {len(found)} faults", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
