"""`python -m tests.crash.kills`: SIGKILL at random moments of a save and of a run.

A process is killed when it has made a drawn number of file operations, so the moments are spread
over saves, appends and starts alike, and a seed repeats them up to some microseconds.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import torch

from tests.crash.checking import check_start
from tests.crash.workload import Truth, load_truth, make_small_run, make_truth
from trainer.cli import main as trainer_main
from trainer.persistence.loss_history import LossHistory
from trainer.rundir.checkpoints.checkpoint import list_checkpoints, write_checkpoint
from trainer.rundir.layout import RunDirectory

_COUNTED = ("open", "write", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink")
_SAVE_PARAMS = 1 << 20
_OPERATIONS_A_SAVE = 16
_OPERATIONS_A_RUN = 200


def run_killed(action: Callable[[], object], n_operations: int) -> bool:
    """Run `action` in a child and kill it after so many file operations; whether it was killed."""
    told, telling = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(told)
        _become_counted(telling)
        try:
            action()
        finally:
            os._exit(0)
    os.close(telling)
    seen = 0
    while seen < n_operations and (news := os.read(told, n_operations - seen)):
        seen += len(news)
    os.kill(pid, signal.SIGKILL)
    os.close(told)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def _become_counted(telling: int) -> None:
    """Tell each file operation before it is done; say nothing else."""
    write = os.write
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            write(telling, b".")
            return real(*arguments, **options)

        return call

    for name in _COUNTED:
        setattr(os, name, counted(getattr(os, name)))


def saved_arrays(step: int) -> list[memoryview]:
    """Weights, m and v in which each float32 tells the step."""
    word = step.to_bytes(4, "little")
    return [memoryview(bytearray(word * _SAVE_PARAMS))] * 3


def save_on_and_on(run: RunDirectory) -> None:
    """Records and saves, as the trainer orders them, from the newest checkpoint on."""
    newest = list_checkpoints(run.path, _SAVE_PARAMS).newest
    first = newest.step if newest else 0
    history = LossHistory(run.loss, first)
    for step in count(first + 1):
        history.record({"step": step, "loss": 1.0, "grad_norm": 1.0, "ema": 1.0, "attempt": 1})
        history.sync()
        write_checkpoint(run.path, step, saved_arrays(step))
        for old in list_checkpoints(run.path, _SAVE_PARAMS).checkpoints[:-2]:
            old.path.unlink()


def kill_saves(folder: Path, n_kills: int, chance: random.Random) -> Iterator[str]:
    """What went wrong in so many kills of a process that does nothing but save."""
    run = RunDirectory(folder)
    run.path.mkdir()
    newest_step = 0
    for number in range(n_kills):
        run_killed(lambda: save_on_and_on(run), chance.randint(1, 3 * _OPERATIONS_A_SAVE))
        inventory = list_checkpoints(run.path, _SAVE_PARAMS)
        if inventory.skipped:
            yield f"kill {number} of a save: {inventory.skipped}"
        if inventory.newest is None:
            continue
        if inventory.newest.step < newest_step:
            yield f"kill {number} of a save: step {newest_step} was lost"
        newest_step = inventory.newest.step
        data = inventory.newest.path.read_bytes()[8:]
        if data != newest_step.to_bytes(4, "little") * (3 * _SAVE_PARAMS):
            yield f"kill {number} of a save: step {newest_step} holds other bytes"
        LossHistory(run.loss, newest_step).close()
    if n_kills > 10 and not newest_step:
        yield "no save ever ended"


def kill_runs(folder: Path, n_kills: int, chance: random.Random, truth: Truth) -> Iterator[str]:
    """What went wrong in so many kills of real trainers, each run trained to its end at last."""
    n_killed = 0
    for number in count():
        run = make_small_run(folder / f"run-{number}", thins=number % 2 == 1)
        durable_step, last = 0, max(truth.checkpoints)
        while durable_step < last:
            n_operations = chance.randint(1, _OPERATIONS_A_RUN) if n_killed < n_kills else 10**6
            n_killed += run_killed(partial(trainer_main, [str(run.path)]), n_operations)
            try:
                check_start(run, truth, durable_step=durable_step)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                yield f"kill {n_killed}: {type(error).__name__}: {error}"
                break
            newest = list_checkpoints(run.path, None).newest
            durable_step = newest.step if newest else 0
        if n_killed >= n_kills:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # in a child, too: a process with torch's threads at work can't be forked
        run_killed(lambda: make_truth(folder / "truth"), 10**6)
        wrong = list(kill_saves(folder / "saves", arguments.saves, chance))
        wrong += kill_runs(folder, arguments.runs, chance, load_truth(folder / "truth"))
    print("\n".join(wrong))
    n_kills = f"{arguments.saves} kills of a save, {arguments.runs} of a run"
    print(f"{n_kills}: {len(wrong)} failures", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
