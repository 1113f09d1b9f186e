"""`python -m tests.crash.explore`: every crash state of two recorded trainings, put to a start."""

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.checking import check_start, lay_out
from tests.crash.recording import Durable, Operation
from tests.crash.states import Directory, final, read_tree, states_after
from tests.crash.workload import Truth, make_small_run, make_truth, record_training
from tests.tiny import train_here
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, RunError


@dataclass(kw_only=True)
class Tally:
    """What was tried, and what went wrong."""

    states: int = 0
    """Different directories."""
    resumed: int = 0
    """Of them, trained to the end."""
    failures: list[str] = field(default_factory=list)


def explore(
    trace: Sequence[Operation],
    truth: Truth,
    scratch: Path,
    *,
    at_most: int,
    seed: int = 0,
    resume_every: int = 0,
) -> Tally:
    """Check up to `at_most` choices each of lost names and of lost bytes after every operation.

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
    assert train_here(run) is Exit.FINISHED
    last = max(truth.checkpoints)
    assert (run.path / f"step_{last:06d}.bin").read_bytes() == truth.checkpoints[last]
    check_start(run, truth, durable_step=last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-most", type=int, default=64, help="choices a crash point, squared")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume-every", type=int, default=500)
    arguments = parser.parse_args()
    n_failures = 0
    with tempfile.TemporaryDirectory() as folder:
        truth = make_truth(Path(folder) / "truth")
        for name, thins in (("all kept", False), ("thinned", True)):
            recorded = Path(folder) / f"recorded {name}"
            trace = record_training(recorded, truth, thins=thins)
            assert final(trace) == read_tree(recorded, ignored="tokens")
            tally = explore(
                trace,
                truth,
                Path(folder) / f"scratch {name}",
                at_most=arguments.at_most,
                seed=arguments.seed,
                resume_every=arguments.resume_every,
            )
            n_failures += len(tally.failures)
            print(
                f"{name}: {len(trace)} operations, {tally.states:,} states, {tally.resumed}"
                f" trained to the end, {len(tally.failures)} failures",
                file=sys.stderr,
            )
            print("\n".join(tally.failures[:20]))
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
