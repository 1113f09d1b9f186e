"""What thinning takes, and what it never does."""

import os
import random
from pathlib import Path

import pytest

from trainer.rundir.checkpoints.checkpoint import Checkpoint, list_checkpoints, write_checkpoint
from trainer.rundir.checkpoints.retention import Plan, notable_steps, plan_thinning
from trainer.rundir.checkpoints.thinning import nonfinite_steps, nonfinite_steps_of, plan_of, thin
from trainer.rundir.config.presets import PRESETS
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import CheckpointSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.records.record_file import Record, RecordArray

EVERY_100 = CheckpointSettings(keep_last=3, keep_every=1000)


def checkpoints_at(*steps: int) -> list[Checkpoint]:
    """With times that say nothing about their order."""
    chance = random.Random(0)
    return [
        Checkpoint(step=step, path=Path(f"s{step}"), n_bytes=20, modified=chance.random())
        for step in steps
    ]


def going(plan: Plan) -> list[int]:
    return [checkpoint.step for checkpoint in plan.going]


def test_last_and_every_thousandth_stay_and_the_rest_goes() -> None:
    plan = plan_thinning(checkpoints_at(*range(100, 2600, 100)), EVERY_100, {})
    assert sorted(plan.kept) == [1000, 2000, 2300, 2400, 2500]
    assert len(plan.going) == 20
    assert plan.freed_bytes == 400


@pytest.mark.parametrize("start", [9_500, 999_500])
def test_newest_stays_where_the_number_of_digits_grows(start: int) -> None:
    steps = range(start, start + 1_000, 100)
    plan = plan_thinning(checkpoints_at(*steps), CheckpointSettings(keep_last=1), {})
    assert plan.kept[max(steps)] == "the newest"
    assert max(steps) not in going(plan)
    assert set(plan.kept) == {max(steps), start + 500}


def test_all_stay_where_retention_is_off() -> None:
    plan = plan_thinning(checkpoints_at(1, 2, 3), CheckpointSettings(keep_last=0), {})
    assert going(plan) == []


def test_protected_steps_stay() -> None:
    plan = plan_thinning(
        checkpoints_at(100, 150, 200, 300, 400), EVERY_100, {150: "a pivot's base"}
    )
    assert going(plan) == [100]
    assert plan.kept[150] == "a pivot's base"


def test_no_checkpoints_are_no_error() -> None:
    assert going(plan_thinning([], EVERY_100, {})) == []


def audit(step: int, score: float | None = 80.0, val_loss: float | None = None) -> Record:
    return {"step": step, "score": score, "val_loss": val_loss}


def notable(
    steps: list[int], audits: list[Record], nonfinite: tuple[int, ...] = ()
) -> dict[int, str]:
    return notable_steps(steps, audits, nonfinite, threshold=30, warmup_steps=50)


def test_best_val_loss_among_the_files_that_exist_is_notable() -> None:
    audits = [audit(100, val_loss=1.0), audit(200, val_loss=2.0), audit(300, val_loss=3.0)]
    assert notable([200, 300], audits) == {200: "the best val_loss"}


def test_best_val_loss_is_sought_among_those_of_the_newest_sample_of_rows() -> None:
    audits = [audit(100, val_loss=1.0), audit(200, val_loss=3.0), audit(300, val_loss=2.0)]
    audits = [{**each, "held_out_rows": 16 if each["step"] < 300 else 64} for each in audits]
    assert notable([100, 200, 300], audits) == {300: "the best val_loss"}
    audits[2]["held_out_rows"] = 16
    del audits[0]["held_out_rows"]  # of a version that didn't tell it
    assert notable([100, 200, 300], audits) == {100: "the best val_loss"}


def test_last_checkpoint_before_a_step_that_was_not_finite_is_notable() -> None:
    found = notable([100, 200, 300], [], nonfinite=(250, 90))
    assert found == {200: "the last before a loss or gradient that was not finite"}


def test_last_checkpoint_before_the_newest_unhealthy_row_is_notable() -> None:
    scores = {50: 1.0, 100: 80.0, 200: 20.0, 300: 80.0, 400: 10.0, 500: 5.0, 600: None}
    audits = [audit(step, score) for step, score in scores.items()]
    assert notable(list(scores), audits) == {300: "the last before an unhealthy audit"}


def test_steps_of_records_that_are_not_finite_are_found_in_all_attempts() -> None:
    records = [
        LossRecord(step=1, loss=2.0),
        LossRecord(step=2, nonfinite={"loss": "NaN"}),
        LossRecord(step=2, loss=2.0),
        LossRecord(step=3, nonfinite={"reward": "NaN"}),
    ]
    assert nonfinite_steps(records) == [2]


def test_only_the_largest_preset_thins_by_itself() -> None:
    kept = {name: parse_settings(f'preset = "{name}"').checkpoint.keep_last for name in PRESETS}
    assert kept == {"demo": 0, "andrea-12m": 0, "andrea-120m": 20}


def test_thinning_a_directory_removes_what_was_planned_and_nothing_else(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    arrays = [memoryview(bytearray(4))] * 3
    text = (
        "[model]\nvocab_size = 300\ncontext = 4\nlayers = 1\nheads = 1\nwidth = 4\n"
        "[train]\nbatch_tokens = 32\n[checkpoint]\nkeep_last = 2\nkeep_every = 500\n"
        '[trainer]\ncommand = ["other"]\n'
    )
    run.settings.write_text(text)
    for step in range(100, 1000, 100):
        write_checkpoint(tmp_path, step, arrays)
    (run.archive / "phase_001").mkdir(parents=True)
    (run.archive / "phase_001" / "pivot.json").write_text('{"held": {"step": 300}}')
    run.fork.write_text('{"parent": "x", "step": 100}')
    samples = RecordArray(run.samples)
    samples.append(audit(400, val_loss=0.5))
    samples.close()
    plan = plan_of(run, parse_settings(text), [])
    assert thin(run, plan) == plan
    assert plan.freed_bytes == 3 * 20
    left = [found.step for found in list_checkpoints(tmp_path, None).checkpoints]
    assert left == [100, 300, 400, 500, 800, 900]


def test_a_history_of_2_gb_of_zeros_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / ".loss.json"
    path.touch()
    os.truncate(path, 2 << 30)
    with pytest.raises(OSError, match="holds 2,147,483,648 bytes"):
        nonfinite_steps_of(path)
