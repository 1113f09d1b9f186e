"""A run of two ranks under the console: launched, found, told to save and to stop."""

import os
import signal
from pathlib import Path

import pytest

from console.process.launch import launch_trainer
from console.process.presence import Liveness, presence_of
from console.process.signals import Ask, send
from tests.forked_ranks import make_ranks_run
from tests.tiny import strict_json
from tests.waiting import wait_for
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import State, read_state


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def test_ranks_are_launched_found_told_to_save_and_to_stop_as_one_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run = make_ranks_run(tmp_path / "run", ranks=2, total_steps=100_000, every=100_000)
    launched = launch_trainer(run)
    try:
        wait_for(lambda: state_of(run).doing == "training", "training")
        presence = presence_of(run)
        assert presence.liveness is Liveness.ALIVE
        assert presence.holder is not None
        assert presence.holder.pid == launched.pid
        here, other = state_of(run).ranks
        assert here.pid == launched.pid
        send(run, Ask.CHECKPOINT)
        wait_for(lambda: state_of(run).last_save, "the checkpoint")
        os.kill(other.pid, signal.SIGTERM)  # a stop that is not rank 0's stops nothing
        send(run, Ask.STOP)
        assert launched.wait(60) == Exit.TERMINATED
    finally:
        launched.kill()
    assert presence_of(run).liveness is Liveness.NOBODY
    wait_for(lambda: not Path(f"/proc/{other.pid}").exists(), "the end of rank 1")
    assert list_checkpoints(run.path, None).checkpoints[-1].step == len(strict_json(run.loss))
