"""The driver of a pivot with live trainers: one that knows no journal, and ours."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from console.cli import main
from console.operations import operations
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver, PivotHaltedError
from console.pivot.facts import Progress
from console.pivot.plan import Plan, check_preconditions, make_plan
from console.process.launch import LaunchedTrainer, launch_trainer
from console.process.presence import presence_of
from console.view.run_view import RunView, Severity, Status
from tests.console import fixed_run
from tests.console.conftest import SCRIPTED_TRAINER
from tests.tiny import make_tiny_run, start_trainer, strict_json, write_paragraphs
from tests.waiting import wait_for
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.policy_change import Bounds, PolicyChange
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.pivot.journal import STAGES, HoldMode, Stage, read_pivot
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.state import read_state

POLICY = 'note = "less code"\nremove = ["stdlib-docs"]\n[policy.stdlib-code]\ncap = 0.4\n'
CHANGE = PolicyChange(
    removed=("stdlib-docs",), bounds={"stdlib-code": Bounds(cap=0.4)}, note="less code"
)


@pytest.fixture(autouse=True)
def _every_trainer_is_reaped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of a console that "was killed" have no other parent than the test."""
    launched: list[LaunchedTrainer] = []

    def launch(*arguments: Any) -> LaunchedTrainer:
        launched.append(launch_trainer(*arguments))
        return launched[-1]

    monkeypatch.setattr(operations, "launch_trainer", launch)
    yield
    for trainer in launched:
        trainer.process.kill()
        trainer.process.wait()


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run of another trainer, which knows no journal."""
    path = tmp_path / "r1"
    command = [sys.executable, str(SCRIPTED_TRAINER), "--every", "20", str(path)]
    run = ensure_run(path, command=tuple(command))[0]
    run.settings.write_text(run.settings.read_text().replace("every = 100", "every = 20"))
    return run


def kill_trainer(run: RunDirectory) -> None:
    """SIGKILL, and wait until the lock is free."""
    holder = presence_of(run).holder
    if holder is not None and holder.pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGKILL)
    wait_for(lambda: not presence_of(run).is_held, "the trainer's end")


def plan_for(run: RunDirectory, mode: HoldMode = HoldMode.BOUNDARY) -> Plan:
    return make_plan(run, CHANGE, mode, {})


def step_of(run: RunDirectory) -> int:
    record = last_record(run.loss)
    return 0 if record is None else int(record["step"])


def done_stages(walk: Iterator[Progress]) -> list[Stage]:
    return [progress.stage for progress in walk if progress.is_done]


def actions_of(run: RunDirectory) -> list[str]:
    lines = run.actions.read_bytes().splitlines()
    return [f"{entry['action']} {entry['ok']}" for entry in map(orjson.loads, lines)]


def test_settings_that_were_edited_after_the_plan_are_not_undone_by_it(run: RunDirectory) -> None:
    plan = plan_for(run)
    edited = run.settings.read_text().replace("every = 20", "every = 40")
    run.settings.write_text(edited)
    with pytest.raises(SettingsError, match=r"run\.toml: was edited after this pivot was planned"):
        PivotDriver(Operations(run)).request(plan)
    assert run.settings.read_text() == edited
    assert not run.pivot.exists()


@pytest.mark.parametrize("mode", HoldMode)
def test_foreign_trainer_is_stopped_behind_its_checkpoint_and_goes_on_in_a_new_phase(
    mode: HoldMode, run: RunDirectory
) -> None:
    Operations(run).launch()
    wait_for(lambda: step_of(run) > 5, "steps")
    pivoting = PivotDriver(Operations(run))
    assert pivoting.request(plan_for(run, mode)).stage is Stage.REQUESTED
    assert done_stages(pivoting.walk()) == [*STAGES[1:]]
    journal = read_pivot(run.phase_archive(1) / "pivot.json")
    assert journal is not None
    assert journal.held is not None
    assert journal.first_record is not None
    assert journal.first_record["step"] == journal.held.step + 1
    assert journal.held.step >= (20 if mode is HoldMode.BOUNDARY else 6)
    assert not run.pivot.exists()
    kill_trainer(run)
    steps = [record["step"] for record in strict_json(run.loss)]
    assert steps == list(range(1, len(steps) + 1))
    assert actions_of(run)[-6:] == ["pivot True"] * 4 + ["launch True", "pivot True"]


def test_stopped_run_takes_its_newest_checkpoint_as_the_boundary(run: RunDirectory) -> None:
    Operations(run).launch()
    wait_for(lambda: step_of(run) > 20, "steps")
    holder = presence_of(run).holder
    assert holder is not None
    os.kill(holder.pid, signal.SIGTERM)
    wait_for(lambda: not presence_of(run).is_held, "the end")
    stopped_at = step_of(run)
    pivoting = PivotDriver(Operations(run))
    asked = pivoting.request(plan_for(run)).message
    where = f"to be held where it stands: at the checkpoint of step {stopped_at}"
    assert asked == f"requested at step {stopped_at}, {where}"
    assert done_stages(pivoting.walk()) == [*STAGES[1:]]
    journal = read_pivot(run.phase_archive(1) / "pivot.json")
    assert journal is not None
    assert journal.held is not None
    assert journal.held.step == stopped_at


@pytest.mark.parametrize("kills", ["console", "trainer", "both"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("end", ["continue", "roll back"])
def test_killed_between_any_two_stages_both_ways_end_in_a_consistent_run(
    kills: str, stage: Stage, end: str, run: RunDirectory
) -> None:
    Operations(run).launch()
    wait_for(lambda: step_of(run) > 5, "steps")
    old = run.settings.read_bytes()
    pivoting = PivotDriver(Operations(run))
    pivoting.request(plan_for(run))
    walk = pivoting.walk()
    if stage is not Stage.REQUESTED:
        # restarted: the trainer is launched and the first step is waited for
        next(p for p in walk if p.stage is stage and (p.is_done or stage is Stage.RESTARTED))
    if kills != "trainer":
        walk.close()
        pivoting = PivotDriver(Operations(run))
    if kills != "console":
        kill_trainer(run)
    if end == "continue":
        finish_whatever_is_left(pivoting, run)
        assert run.archived_phases()[0][0] == 1
        assert b"stdlib-docs]" not in run.settings.read_bytes()
    else:
        outcome = pivoting.roll_back()
        has_begun = stage is Stage.RESTARTED
        assert outcome.ok or has_begun, outcome.message
        if outcome.ok:
            assert run.settings.read_bytes() == old
            assert run.archived_phases() == []
            assert not run.pivot.exists()
    kill_trainer(run)
    steps = [record["step"] for record in strict_json(run.loss)]
    assert steps == list(range(1, len(steps) + 1))


def finish_whatever_is_left(pivoting: PivotDriver, run: RunDirectory) -> None:
    """`--continue`; the journal is gone where the first step was seen before the kill."""
    if run.pivot.exists():
        done_stages(pivoting.walk())
    assert not run.pivot.exists()


def test_trainer_that_ends_before_the_boundary_halts_the_pivot_in_words(
    run: RunDirectory,
) -> None:
    Operations(run).launch()
    wait_for(lambda: step_of(run) > 5, "steps")
    (run.path / "pause").touch()
    pivoting = PivotDriver(Operations(run))
    pivoting.request(plan_for(run))
    walk = pivoting.walk()
    waiting = next(walk)
    assert waiting.message == "waiting for the checkpoint of step 20"
    kill_trainer(run)
    with pytest.raises(PivotHaltedError, match=r"ended before the boundary.*--continue"):
        list(walk)
    assert actions_of(run)[-1] == "pivot False"


def test_boundary_that_is_the_end_of_the_run_is_refused_but_not_a_pivot_now(
    run: RunDirectory,
) -> None:
    losses = RecordArray(run.loss)
    for step in range(1, 1_986):
        losses.append({"step": step, "loss": 2.0})
    losses.close()
    pivoting = PivotDriver(Operations(run))
    with pytest.raises(PivotHaltedError, match=r"step 2,000, is the end of the run.*--now"):
        pivoting.request(plan_for(run))
    assert not run.pivot.exists()
    assert pivoting.request(plan_for(run, HoldMode.NOW)).stage is Stage.REQUESTED


def test_read_only_console_pivots_nothing(run: RunDirectory) -> None:
    pivoting = PivotDriver(Operations(run, read_only=True))
    with pytest.raises(PivotHaltedError, match="read-only"):
        pivoting.request(plan_for(run))
    assert not pivoting.roll_back().ok
    assert not run.pivot.exists()


def test_verb_without_a_terminal_needs_yes_and_changes_nothing_before(
    run: RunDirectory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    Operations(run).launch()
    wait_for(lambda: (s := read_state(run.state)) is not None and s.doing == "training", "state")
    monkeypatch.setattr(sys, "stdin", io.StringIO("r1\n"))
    assert main(["pivot", str(run.path), "--policy", str(policy)]) == Exit.USAGE
    shown = capsys.readouterr()
    assert "+cap = 0.4" in shown.err
    assert "needs --yes" in shown.err
    assert not run.pivot.exists()


def test_verb_with_a_mistake_in_the_policy_file_names_file_and_key(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[policy.stdlib-cod]\ncap = 0.4\n")
    assert main(["pivot", str(run.path), "--policy", str(policy)]) == Exit.USAGE
    assert "policy.stdlib-cod: no such source; did you mean stdlib-code?" in capsys.readouterr().err


def test_preconditions_say_what_is_wrong_and_how_to_mend_it(run: RunDirectory) -> None:
    run.pivot.touch()
    view = RunView(
        name="r1",
        path=run.path,
        status=Status(word="training", severity=Severity.OK),
        is_running=True,
        step=2000,
        total_steps=2000,
    )
    failed = [c for c in check_preconditions(run, view, 30.0) if c.has_failed]
    assert [check.what for check in failed] == [
        "a pivot is under way",
        "the trainer takes no signals from here",
        "all steps are done",
    ]
    assert all(check.mend for check in failed)


@pytest.mark.parametrize(("steps_lost", "told"), [(0, "is taken"), (7, "up to the next boundary")])
def test_preconditions_of_a_stopped_run_say_where_it_would_be_held(
    steps_lost: int, told: str, run: RunDirectory
) -> None:
    view = fixed_run.stopped_view()
    (check,) = (
        check
        for check in check_preconditions(run, replace(view, step=view.step + steps_lost), 30.0)
        if check.what == "the run is stopped"
    )
    assert told in check.mend


def test_whole_pivot_of_a_real_run_by_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=40)
    write_paragraphs(tmp_path / "added.jsonl", "added", 50)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'remove = ["small"]\n[policy.large]\ncap = 0.5\n[sources.added]\npath = "added.jsonl"\n'
    )
    process = start_trainer(run)
    try:
        wait_for(lambda: step_of(run) > 45, "steps", seconds=90)
        before = run.loss.read_bytes()
        assert main(["pivot", str(run.path), "--policy", str(policy), "--yes"]) == 0
        assert process.wait(10) == Exit.HELD
        told = capsys.readouterr()
        assert [line.split(":")[0] for line in told.out.splitlines()] == [*STAGES]
        assert "added: 50 documents" in told.err
    finally:
        process.kill()
        process.wait()
        kill_trainer(run)
    boundary = max(c.step for c in list_checkpoints(run.path, None).checkpoints)
    assert run.loss.read_bytes()[: len(before) - 3] == before[:-3]
    records = strict_json(run.loss)
    assert [r["step"] for r in records] == list(range(1, len(records) + 1))
    assert [r["phase"] for r in records[boundary - 1 : boundary + 1]] == [1, 2]
