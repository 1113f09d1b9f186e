"""Trainers that stop early or stand still for a while, and clocks that jump (cases D9, D10)."""

import signal
import time
from pathlib import Path

import pytest

from console.follow.follower import Clock, Follower
from console.verbs.waiting import look_at_all
from tests.integration.test_trainer_process import Start, start, wait_for_steps, wait_until
from tests.tiny import ask_stop, make_tiny_run, strict_json, timeless, train_here
from trainer.loop import Training
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import read_state

__all__ = ["start"]  # the fixture

HOUR_SECONDS = 3600.0


def test_stopped_process_is_stalled_in_words_and_then_fine(tmp_path: Path, start: Start) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=1_000_000, every=500_000)
    process = start(run)
    wait_for_steps(run, process, 5)
    ahead = [0.0]
    clock = Clock(monotonic=lambda: time.monotonic() + ahead[0], wall=time.time)
    follower = Follower(run, clock=clock)
    assert look_at_all(follower).status.word == "training"
    process.send_signal(signal.SIGSTOP)
    stat = Path(f"/proc/{process.pid}/stat")
    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", process, run.log)
    look_at_all(follower)
    ahead[0] += HOUR_SECONDS
    stalled = look_at_all(follower).status
    assert stalled.word == "stalled"
    assert "no checkpoint yet" in stalled.detail
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: look_at_all(follower).status.word == "training", process, run.log)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED


@pytest.mark.parametrize("jump_seconds", [HOUR_SECONDS, -HOUR_SECONDS])
def test_jump_of_the_wall_clock_changes_no_duration_and_no_byte(
    jump_seconds: float, tmp_path: Path
) -> None:
    straight, run = make_tiny_run(tmp_path / "straight"), make_tiny_run(tmp_path / "run")
    train_here(straight)

    def jump(training: Training) -> None:
        training.wall = lambda: time.time() + jump_seconds

    assert train_here(run, {5: jump}) is Exit.FINISHED
    records = strict_json(run.loss)
    assert abs(records[5]["t"] - records[4]["t"] - jump_seconds) < 100
    assert all(0 <= record["ms"] < 60_000 for record in records)
    assert timeless(records) == timeless(strict_json(straight.loss))
    last = "step_000016.bin"
    assert (run.path / last).read_bytes() == (straight.path / last).read_bytes()


def test_step_to_end_at_is_told_only_where_it_was_reached(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    reasons = []
    for until, script in ((12, {5: ask_stop}), (12, None), (8, None), (None, None)):
        train_here(run, script, until=until)
        state = read_state(run.state)
        assert state is not None
        reasons.append(state.reason)
    reached = "trained to step 12, as --until asked"
    assert reasons == ["", reached, reached, ""]
