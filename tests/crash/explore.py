"""`python -m tests.crash.explore`: the crash states of recorded trainings and pivots, tried.

`names`: trainings whose directory or lock is renamed, moved or unlinked at a drawn moment.
"""

import argparse
import functools
import sys
import tempfile
from pathlib import Path

from tests.crash.name_states import NameExplorer
from tests.crash.pivot_states import PivotExplorer, recorded_pivots
from tests.crash.states import final, read_tree
from tests.crash.tally import Tally
from tests.crash.training_states import explore
from tests.crash.workload import make_truth, record_training

_EPILOG = """\
bounded, the default: after each file operation up to N choices of which names are lost, and for
  each up to N of which bytes are; of more the extremes, each single loss, and a draw by --seed
exhaustive, --at-most 0: all choices there are
  trainings --at-most 0                5,500 states of two trainings of 13 steps: a minute
  pivots --at-most 0 --kill-every 80   560 states of the 7 pivots that nothing kills: 15 seconds
  names --cases 100                    100 trainings, 700 states: five minutes
  pivots --at-most 0                   of 469 pivots, an estimated 1,000,000 at most: hours
always drawn, never enumerated: what of .state.json, trainer.lock and *.partial a training loses
"""


def explore_trainings(folder: Path, arguments: argparse.Namespace) -> int:
    """The number of failures."""
    n_failures = 0
    truth = make_truth(folder / "truth")
    for name, thins in (("all kept", False), ("thinned", True)):
        recorded = folder / f"recorded {name}"
        trace = record_training(recorded, truth, thins=thins)
        assert final(trace) == read_tree(recorded, ignored="tokens")
        tally = explore(
            trace,
            truth,
            folder / f"scratch {name}",
            at_most=arguments.at_most,
            seed=arguments.seed,
            resume_every=arguments.resume_every,
        )
        n_failures += _told(f"{name}: {len(trace)} operations", tally)
    return n_failures


def explore_pivots(folder: Path, arguments: argparse.Namespace) -> int:
    """The number of failures."""
    explorer = PivotExplorer(folder, at_most=arguments.at_most, seed=arguments.seed)
    n_operations = n_pivots = 0
    for recorded in recorded_pivots(folder, kill_every=arguments.kill_every):
        n_pivots += 1
        n_operations += len(recorded.trace) - recorded.begins
        explorer.explore(recorded)
    return _told(f"{n_pivots} pivots: {n_operations:,} operations", explorer.tally)


def explore_names(folder: Path, arguments: argparse.Namespace) -> int:
    """The number of failures."""
    explorer = NameExplorer(folder, seed=arguments.seed)
    n_cases: int = arguments.cases
    return _told(f"{n_cases} deeds to the names of a run", explorer.explore(n_cases))


def _told(what: str, tally: Tally) -> int:
    trained = f", {tally.resumed} trained to the end" if tally.resumed else ""
    print(
        f"{what}, {tally.states:,} states{trained}, {len(tally.failures)} failures",
        file=sys.stderr,
    )
    print("\n".join(tally.failures[:20]))
    return len(tally.failures)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash.explore",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = functools.partial(parser.add_argument, type=int, metavar="N")
    parser.add_argument(
        "what",
        nargs="*",
        choices=[*_EXPLORED, []],
        metavar="|".join(_EXPLORED),
        help="default: all",
    )
    add("--at-most", default=64, help="choices tried after an operation (64); 0: all")
    add("--seed", default=0, help="of what is drawn (0)")
    add("--resume-every", default=500, help="N-th state of a training is trained on (500); 0: none")
    add("--kill-every", default=1, help="N-th operation of a pivot is where one is killed (1)")
    add("--cases", default=100, help="renames, moves and unlinks tried (100)")
    arguments = parser.parse_args()
    n_failures = 0
    for what in arguments.what or _EXPLORED:
        with tempfile.TemporaryDirectory() as folder:
            n_failures += _EXPLORED[what](Path(folder), arguments)
    return 1 if n_failures else 0


_EXPLORED = {
    "trainings": explore_trainings,
    "pivots": explore_pivots,
    "names": explore_names,
}


if __name__ == "__main__":
    sys.exit(main())
