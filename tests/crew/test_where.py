"""Which rank a process is, by its environment alone."""

import pytest

from trainer.crew.where import LEADER_VARIABLE, Where, where_am_i
from trainer.crew.wire import ticks_of
from trainer.rundir.outcomes import SettingsError

MEETING = {"MASTER_ADDR": "gpu-1", "MASTER_PORT": "29500"}
TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", **MEETING}
SRUN = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1", **MEETING}


@pytest.mark.parametrize("environment", [TORCHRUN, SRUN], ids=["torchrun", "srun"])
def test_torchrun_and_srun_tell_the_rank(environment: dict[str, str]) -> None:
    assert where_am_i(environment) == Where(rank=3, size=8, local=1, host="gpu-1", port=29500)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},
        {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
        {"RANK": "0", "WORLD_SIZE": "1"},
        {"RANK": "5"},
    ],
    ids=["nothing", "a batch script", "a step of one task", "a world of one", "no world"],
)
def test_a_process_is_alone_where_nothing_started_several(environment: dict[str, str]) -> None:
    assert where_am_i(environment) == Where()


def test_torchruns_own_store_is_not_listened_beside_and_keeps_attempts_apart() -> None:
    agent = {"TORCHELASTIC_RUN_ID": "x", "TORCHELASTIC_RESTART_COUNT": "2"}
    where = where_am_i({**TORCHRUN, **agent})
    assert (where.meets_in_store, where.attempt) == (True, "2")


def test_a_rank_that_rank_0_started_goes_to_it_whatever_else_is_set() -> None:
    where = where_am_i({**TORCHRUN, "TORCHELASTIC_RUN_ID": "x", LEADER_VARIABLE: "127.0.0.1:7"})
    assert (where.host, where.port, where.is_child) == ("127.0.0.1", 7, True)
    assert not where.meets_in_store


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"MASTER_PORT": ""}, "MASTER_PORT: not set"), ({"RANK": "x"}, "RANK: 'x' is not a whole")],
)
def test_an_environment_that_cannot_be_used_is_refused_by_its_name(
    wrong: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        where_am_i({**TORCHRUN, **wrong})


@pytest.mark.parametrize("seconds", [0.5, 2.0, 120.0, 3600.0])
def test_a_rank_is_missed_after_the_timeout_and_heard_every_second(seconds: float) -> None:
    tick, most = ticks_of(seconds)
    assert tick <= 1.0
    assert tick * most == pytest.approx(seconds)
