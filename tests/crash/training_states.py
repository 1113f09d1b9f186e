"""The crash states of a recorded training, each put to what the next start reads."""

import hashlib
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tests.crash.checking import check_start, lay_out, train_to_the_end
from tests.crash.recording import Durable, Operation
from tests.crash.states import Directory, states_after
from tests.crash.tally import Tally
from tests.crash.workload import Truth, make_small_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError


def explore(
    trace: Sequence[Operation],
    truth: Truth,
    scratch: Path,
    *,
    at_most: int,
    seed: int = 0,
    resume_every: int = 0,
    moments: Collection[int] | None = None,
) -> Tally:
    """Check up to `at_most` choices each of lost names and of lost bytes after every operation,
    or after so many as `moments` has; 0: all there are.

    Each `resume_every`-th state is trained to the end, to the same last checkpoint.
    """
    tally = Tally()
    seen: set[bytes] = set()
    run = make_small_run(scratch / "run")
    for n_done, durable_step, state in _states(trace, at_most, seed, moments):
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
    trace: Sequence[Operation], at_most: int, seed: int, moments: Collection[int] | None
) -> Iterator[tuple[int, int, Directory]]:
    durable_step = 0
    for n_done in range(1, len(trace) + 1):
        operation = trace[n_done - 1]
        if isinstance(operation, Durable):
            durable_step = operation.step
        if moments is not None and n_done not in moments:
            continue
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
