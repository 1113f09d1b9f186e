"""One of several ranks dies, hangs or is signalled: all end, the state tells, the next resumes."""

import functools
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.crash.rank_kills import kill_at_random, processes_of
from tests.forked_ranks import Forked, Zygote, make_ranks_run, set_in
from tests.tiny import strict_json
from tests.waiting import wait_for
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import State, read_state

FOR_EVER = 100_000


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def has_records(run: RunDirectory) -> bool:
    return run.loss.exists() and b"}" in run.loss.read_bytes()


def training(ranks: Zygote, run: RunDirectory) -> Forked:
    """A trainer whose ranks have done a step together."""
    process = ranks.start(run)
    wait_for(lambda: has_records(run) or process.poll() is not None, "a step")
    assert process.poll() is None, run.log.read_text()
    return process


def assert_all_gone(process: Forked) -> None:
    wait_for(lambda: not processes_of(process), "the end of all ranks")


def assert_resumes(ranks: Zygote, run: RunDirectory) -> None:
    """The next start goes on from what is on disk, and proves the records of the one before."""
    step = len(strict_json(run.loss))
    assert ranks.train(run, "--until", str(step + 2)) == Exit.FINISHED, run.log.read_text()
    replay = state_of(run).replay
    assert replay is None or replay.differing == 0
    assert list_checkpoints(run.path, None).checkpoints[-1].step == step + 2


def test_a_rank_that_is_killed_ends_all_and_is_named(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=4, total_steps=FOR_EVER, every=FOR_EVER)
    process = training(ranks, run)
    began = time.time()
    victim = state_of(run).ranks[2]
    os.kill(victim.pid, signal.SIGKILL)
    assert process.wait() == Exit.ERROR
    assert_all_gone(process)
    state = state_of(run)
    assert state.doing == "failed"
    assert state.reason.startswith(f"rank 2 (pid {victim.pid} on ")
    assert "killed by SIGKILL" in state.reason
    lost = [each for each in state.ranks if each.lost_since is not None]
    assert [each.rank for each in lost] == [2]
    assert lost[0].lost_since is not None
    assert lost[0].lost_since >= began - 5
    assert_resumes(ranks, run)


def test_all_end_where_rank_0_is_killed(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=4, total_steps=FOR_EVER, every=FOR_EVER)
    process = training(ranks, run)
    process.kill()
    assert_all_gone(process)
    assert_resumes(ranks, run)


def test_a_rank_that_hangs_is_ended_with_all_others(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2, total_steps=FOR_EVER, every=FOR_EVER)
    set_in(run, rank_timeout_seconds=2)
    process = training(ranks, run)
    victim = state_of(run).ranks[1]
    os.kill(victim.pid, signal.SIGSTOP)
    assert process.wait() == Exit.ERROR
    assert_all_gone(process)
    state = state_of(run)
    assert "nothing heard of it for 2 s" in state.reason
    assert state.ranks[1].lost == "nothing heard of it for 2 s"


def test_the_others_end_where_rank_0_hangs_and_it_says_so_when_it_goes_on(
    ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2, total_steps=FOR_EVER, every=FOR_EVER)
    set_in(run, rank_timeout_seconds=2)
    process = training(ranks, run)
    os.kill(process.pid, signal.SIGSTOP)
    wait_for(lambda: processes_of(process) == [process.pid], "the end of rank 1")
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait() == Exit.ERROR
    assert state_of(run).reason.startswith("rank 1 ")
    assert "nothing heard of rank 0 for 2 s" in run.log.read_text()


def test_signals_to_all_ranks_are_heard_by_rank_0_alone(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2, total_steps=FOR_EVER, every=FOR_EVER)
    process = training(ranks, run)
    for pid in processes_of(process):
        os.kill(pid, signal.SIGUSR1)
    wait_for(lambda: state_of(run).last_save, "the checkpoint that was asked for")
    for pid in processes_of(process):
        os.kill(pid, signal.SIGTERM)
    assert process.wait() == Exit.TERMINATED
    assert_all_gone(process)
    assert list_checkpoints(run.path, None).checkpoints[-1].step == len(strict_json(run.loss))


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, Exit.TERMINATED), (signal.SIGINT, Exit.INTERRUPTED)],
)
def test_a_stop_while_ranks_join_ends_all(
    number: int, code: Exit, ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    process = ranks.start(run, patch="never_join")
    wait_for(lambda: state_of(run).detail == "waiting for 2 ranks", "ranks that join")
    wait_for(lambda: len(processes_of(process)) == 2, "a rank that was started")
    for pid in processes_of(process):
        os.kill(pid, signal.SIGUSR1)
    os.kill(process.pid, number)
    assert process.wait() == code
    assert_all_gone(process)
    assert "nothing was trained" in state_of(run).reason


def test_a_rank_that_dies_while_it_joins_is_named_at_once(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    assert ranks.train(run, patch="die_while_joining") == Exit.ERROR
    assert "rank 1 ended while it joined: ended with exit code 7" in state_of(run).reason


def test_a_world_that_stays_incomplete_is_refused_after_a_stated_time(
    ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run")
    environment = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    process = ranks.start(run, patch="wait_a_moment_for_ranks", environment=environment)
    assert process.wait() == Exit.USAGE
    assert "train.ranks: of 2 ranks 1 did not join within 0.2 s" in state_of(run).reason


def test_an_error_between_steps_is_saved_with_what_the_others_have(
    ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    assert ranks.train(run, patch="fail_before_the_fourth_step") == Exit.ERROR
    assert [each.step for each in list_checkpoints(run.path, None).checkpoints] == [3]
    assert_resumes(ranks, run)


def test_an_error_of_a_rank_within_a_step_is_told_in_its_words(
    ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    assert ranks.train(run, patch="fail_in_the_third_step_of_rank_1") == Exit.ERROR
    assert "RuntimeError: CUDA is out of luck" in state_of(run).reason
    assert not list_checkpoints(run.path, None).checkpoints


def test_ranks_of_another_torch_are_refused(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    assert ranks.train(run, patch="be_of_another_torch") == Exit.USAGE
    assert "train.ranks: rank 1 on " in state_of(run).reason
    assert "has torch 0.1, rank 0 has" in state_of(run).reason


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_ranks_that_something_else_has_started_meet_by_their_environment(
    launcher: str, ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", total_steps=5)
    processes = [
        ranks.start(run, environment=environment_of(launcher, rank, free_port()))
        for rank in range(2)
    ]
    assert [process.wait() for process in processes] == [Exit.FINISHED] * 2, run.log.read_text()
    assert [each.rank for each in state_of(run).ranks] == [0, 1]
    alone = make_ranks_run(tmp_path / "alone", total_steps=5)
    assert ranks.train(alone) == Exit.FINISHED
    name = "step_000005.bin"
    assert (alone.path / name).read_bytes() == (run.path / name).read_bytes()


@functools.cache
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def environment_of(launcher: str, rank: int, port: int) -> dict[str, str]:
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    if launcher == "torchrun":
        return {**meeting, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    step = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_STEP_NUM_TASKS": "2"}
    return {**meeting, **step}


def test_any_rank_killed_at_any_moment_costs_no_byte(ranks: Zygote, tmp_path: Path) -> None:
    """`python -m tests.crash.rank_kills 100 1` draws more."""
    assert kill_at_random(ranks, tmp_path, 2, seed=1).total() == 2
