"""`python -m tests.crash.explore`: the crash states of recorded trainings and pivots, tried."""

import argparse
import functools
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.crash.checking import check_start, lay_out, train_to_the_end
from tests.crash.pivot_states import PivotExplorer, recorded_pivots
from tests.crash.recording import Durable, Operation
from tests.crash.states import Directory, final, read_tree, states_after
from tests.crash.tally import Tally
from tests.crash.workload import Truth, make_small_run, make_truth, record_training
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError

_EPILOG = """\
bounded, the default: after each file operation up to N choices of which names are lost, and for
  each up to N of which bytes are; of more the extremes, each single loss, and a draw by --seed
exhaustive, --at-most 0: all choices there are
  trainings --at-most 0                5,500 states of two trainings of 13 steps: a minute
  pivots --at-most 0 --kill-every 80   560 states of the 7 pivots that nothing kills: 15 seconds
  pivots --at-most 0                   of 469 pivots, an estimated 1,000,000 at most: hours
always drawn, never enumerated: what of .state.json, trainer.lock and *.partial a training loses
"""


def explore(
    trace: Sequence[Operation],
    truth: Truth,
    scratch: Path,
    *,
    at_most: int,
    seed: int = 0,
    resume_every: int = 0,
) -> Tally:
    """Check up to `at_most` choices each of lost names and of lost bytes after every operation;
    0: all there are.

    Each `resume_every`-th state is trained to the end, to the same last checkpoint.
    """
    tally = Tally()
    seen: set[bytes] = set()
    run = make_small_run(scratch / "run")
    for n_done, durable_step, state in _states(trace, at_most, seed):
        key = _digest(state, durable_step)
        if key in seen:
            continue
        seen.add(key)
        tally.states += 1
        lay_out(state, run)
        try:
            check_start(run, truth, durable_step=durable_step)
            if resume_every and tally.states % resume_every == 0:
                _resume(state, run, truth)
                tally.resumed += 1
        except (AssertionError, RunError) as error:
            tally.failures.append(f"after {n_done} operations ({trace[n_done - 1]!r:.80}): {error}")
    return tally


def _states(
    trace: Sequence[Operation], at_most: int, seed: int
) -> Iterator[tuple[int, int, Directory]]:
    durable_step = 0
    for n_done in range(1, len(trace) + 1):
        operation = trace[n_done - 1]
        if isinstance(operation, Durable):
            durable_step = operation.step
        for state in states_after(trace, n_done, at_most=at_most, seed=seed):
            if "run.toml" in state:
                yield n_done, durable_step, state


def _digest(state: Directory, durable_step: int) -> bytes:
    digest = hashlib.sha256(str(durable_step).encode())
    for name in sorted(state):
        digest.update(f"\n{name} {len(state[name])}\n".encode() + state[name])
    return digest.digest()


def _resume(state: Directory, run: RunDirectory, truth: Truth) -> None:
    lay_out(state, run)
    if not run.tokens.exists():
        shutil.copytree(truth.run.tokens, run.tokens)
    train_to_the_end(run, truth)


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
    arguments = parser.parse_args()
    n_failures = 0
    for what in arguments.what or _EXPLORED:
        with tempfile.TemporaryDirectory() as folder:
            n_failures += _EXPLORED[what](Path(folder), arguments)
    return 1 if n_failures else 0


_EXPLORED = {"trainings": explore_trainings, "pivots": explore_pivots}


if __name__ == "__main__":
    sys.exit(main())
