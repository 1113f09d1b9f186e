"""`python -m tests.crash.storms`: random signals to real trainers, and double starts."""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.tiny import make_tiny_run, start_trainer, strict_json
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.record_file import RecordTail
from trainer.rundir.state import State, read_state

_PATIENCE_SECONDS = 60


def wait_for(fact: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Until `fact`; `AssertionError` if the process ends or a minute goes by before."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not fact():
        assert process.poll() is None, f"exit {process.returncode} before: {what}"
        assert time.monotonic() < deadline, f"hangs before: {what}"
        time.sleep(0.002)


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def has_records(run: RunDirectory) -> bool:
    return bool(RecordTail(run.loss).look().records)


def storm(run: RunDirectory, n_signals: int, seed: int) -> int:
    """Send so many of SIGUSR1 and SIGHUP at random moments, then SIGTERM; the checkpoints made.

    Asserts that the trainer lives, answers the last request, and ends by a checkpoint.
    """
    chance = random.Random(seed)
    process = start_trainer(run)
    try:
        wait_for(lambda: state_of(run).takes_signals, process, "it takes signals")
        n_asked = 0
        for sent in range(n_signals):
            if sent == n_signals // 4:  # those before came while it was loading
                wait_for(lambda: has_records(run), process, "a first record")
            number = chance.choice((signal.SIGUSR1, signal.SIGUSR1, signal.SIGHUP))
            n_asked += number == signal.SIGUSR1
            process.send_signal(number)
            time.sleep(chance.random() * 0.02)
        wait_for(lambda: _is_answered(run), process, "the last request is answered")
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE_SECONDS) == Exit.TERMINATED
    finally:
        process.kill()
        process.wait()
    steps = [found.step for found in list_checkpoints(run.path, None).checkpoints]
    assert steps[-1] == strict_json(run.loss)[-1]["step"]
    assert [sample["step"] for sample in strict_json(run.samples)] == steps
    return len(steps)


def _is_answered(run: RunDirectory) -> bool:
    """Whether a save answered requests, and training went on after it."""
    state = state_of(run)
    save = state.last_save
    return save is not None and save.requests > 0 and state.step > save.step


def start_twice(run: RunDirectory) -> None:
    """Two trainers at once: one holds the run, the other ends with 5 and harms nothing."""
    both = [start_trainer(run), start_trainer(run)]
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while all(process.poll() is None for process in both):
            assert time.monotonic() < deadline, "both live"
            time.sleep(0.002)
        loser, winner = sorted(both, key=lambda process: process.poll() is None)
        assert loser.returncode == Exit.LOCKED
        assert "another trainer holds this run" in run.log.read_text()
        wait_for(lambda: has_records(run), winner, "a first record")
        winner.send_signal(signal.SIGTERM)
        assert winner.wait(_PATIENCE_SECONDS) == Exit.TERMINATED
    finally:
        for process in both:
            process.kill()
            process.wait()
    steps = [record["step"] for record in strict_json(run.loss)]
    assert steps == list(range(1, len(steps) + 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signals", type=int, default=500)
    parser.add_argument("--double-starts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = make_tiny_run(Path(folder) / "storm", total_steps=100_000, every=50_000)
        n_checkpoints = storm(run, arguments.signals, arguments.seed)
        print(f"{arguments.signals} signals: {n_checkpoints} checkpoints, none lost, none hung")
        run = make_tiny_run(Path(folder) / "twice", total_steps=100_000, every=50_000)
        for _ in range(arguments.double_starts):
            start_twice(run)
        print(f"{arguments.double_starts} double starts: each time one trained and one left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
