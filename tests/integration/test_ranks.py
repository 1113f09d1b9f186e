"""A run's bytes do not depend on how many ranks train it, nor on when their number changes."""

from pathlib import Path
from typing import Any

import pytest

from tests.forked_ranks import Zygote, make_ranks_run, set_in
from tests.gpu.check import is_same_by_ranks
from tests.tiny import strict_json, timeless
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import State, read_state


@pytest.fixture(scope="module")
def straight(ranks: Zygote, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Trained by one process from its beginning to its end."""
    run = make_ranks_run(tmp_path_factory.mktemp("straight") / "run")
    assert ranks.train(run) == Exit.FINISHED, run.log.read_text()
    return run


def written(run: RunDirectory) -> dict[str, Any]:
    """All that must be the same bytes, or the same values where a clock is beside them."""
    audits = strict_json(run.samples)
    return {
        **{path.name: path.read_bytes() for path in sorted(run.path.glob("step_*.bin"))},
        "records": timeless(strict_json(run.loss)),
        "audits": [{**audit, "ms": 0, "t": 0, "cause": ""} for audit in audits],
    }


@pytest.mark.parametrize("size", [2, 4, 8])
def test_checkpoints_records_and_audits_are_those_of_one_rank(
    size: int, straight: RunDirectory, ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=size)
    assert ranks.train(run) == Exit.FINISHED, run.log.read_text()
    assert written(run) == written(straight)


def test_a_chain_of_resumes_by_other_numbers_of_ranks_is_the_same_run(
    straight: RunDirectory, ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run")
    for size, until in ((1, 3), (4, 7), (2, 13), (1, 16)):
        set_in(run, ranks=size)
        assert ranks.train(run, "--until", str(until)) == Exit.FINISHED, run.log.read_text()
    found, wanted = written(run), written(straight)
    assert {name: found[name] for name in wanted if name != "audits"} == {
        name: wanted[name] for name in wanted if name != "audits"
    }
    assert [each for each in found["audits"] if each["step"] in (8, 16)] == wanted["audits"]


def test_a_plain_all_reduce_is_another_run(
    straight: RunDirectory, ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=4)
    assert ranks.train(run, patch="sum_by_all_reduce") == Exit.FINISHED, run.log.read_text()
    assert written(run)["step_000016.bin"] != written(straight)["step_000016.bin"]


@pytest.mark.parametrize(
    "options", [{"rules": 1}, {"width": 16}], ids=["norm in one", "one rank owns all"]
)
def test_a_norm_that_is_summed_in_one_and_ranks_without_a_slice_change_nothing(
    options: dict[str, int], ranks: Zygote, tmp_path: Path
) -> None:
    runs = [make_ranks_run(tmp_path / f"{n}", ranks=n, total_steps=5, **options) for n in (1, 2)]
    assert [ranks.train(run) for run in runs] == [Exit.FINISHED] * 2
    one, two = map(written, runs)
    assert one["step_000005.bin"] == two["step_000005.bin"]
    assert one["records"] == two["records"]


def test_shares_of_several_micro_batches_are_the_same_sum_on_any_ranks(
    ranks: Zygote, tmp_path: Path
) -> None:
    runs = [make_ranks_run(tmp_path / f"{n}", ranks=n, total_steps=5) for n in (1, 2, 4)]
    for run in runs:
        set_in(run, shares=4)
        assert ranks.train(run) == Exit.FINISHED, run.log.read_text()
    first, *others = [written(run)["step_000005.bin"] for run in runs]
    assert others == [first, first]


def test_a_gradient_that_is_no_number_on_one_rank_ends_all_without_an_update(
    ranks: Zygote, tmp_path: Path
) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    process = ranks.start(run, patch="spoil_the_third_step_of_rank_1")
    assert process.wait() == Exit.NONFINITE, run.log.read_text()
    state = read_state(run.state)
    assert state is not None
    assert "step 3" in state.reason
    assert state.step == 2


def test_a_run_of_two_ranks_is_proven_by_one(ranks: Zygote, tmp_path: Path) -> None:
    run = make_ranks_run(tmp_path / "run", ranks=2)
    assert ranks.train(run, "--until", "8") == Exit.FINISHED, run.log.read_text()
    (run.path / "step_000008.bin").unlink()
    assert ranks.train(run, "--until", "8", "--ranks", "1") == Exit.FINISHED, run.log.read_text()
    replay = (read_state(run.state) or State()).replay
    assert replay is not None
    assert (replay.proven, replay.differing) == (8, 0)


def test_scales_of_fp16_are_tried_by_all_ranks_alike(ranks: Zygote, tmp_path: Path) -> None:
    written = []
    for size in (1, 2):
        run = make_ranks_run(tmp_path / f"{size}", ranks=size, total_steps=5)
        assert ranks.train(run, patch="train_in_fp16") == Exit.FINISHED, run.log.read_text()
        written.append((run.path / "step_000005.bin").read_bytes())
    assert written[0] == written[1]


def test_the_check_for_gpus_compares_one_rank_with_two(ranks: Zygote, tmp_path: Path) -> None:
    assert is_same_by_ranks(tmp_path, ranks.train, "cpu", "fp32")
