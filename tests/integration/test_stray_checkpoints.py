"""A file that has a checkpoint's name, size and header, and is not of this run: it counts for
nothing, is told, and stays as it is.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console.cli import main
from console.follow.follower import Follower
from console.operations import operations
from console.operations.operations import Operations
from console.pivot.driver import PivotDriver
from console.pivot.plan import Plan, make_plan
from console.process.launch import LaunchedTrainer, launch_trainer
from console.process.presence import presence_of
from tests.tiny import (
    Crashed,
    ask_checkpoint,
    ask_stop,
    crash,
    make_tiny_run,
    start_trainer,
    train_here,
    write_paragraphs,
)
from tests.waiting import wait_for
from trainer.cli import main as train
from trainer.loop import Training
from trainer.rundir.checkpoints.checkpoint import INT32_MAX, checkpoint_name
from trainer.rundir.config.policy_change import load_policy_file
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, HistoryError, SaveError, SettingsError
from trainer.rundir.pivot.journal import Held, HoldMode, read_pivot, request_pivot
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.state import read_state, write_state

STRAY = checkpoint_name(5000)


def plant(run: RunDirectory, step: int = 5000) -> None:
    """A copy of one of the run's checkpoints under the name and header of another step."""
    data = bytearray(sorted(run.path.glob("step_*.bin"))[0].read_bytes())
    data[:4] = step.to_bytes(4, "little")
    (run.path / checkpoint_name(step)).write_bytes(data)


def names(run: RunDirectory) -> list[str]:
    return sorted(path.name for path in run.path.glob("step_*"))


def keep_last_one(run: RunDirectory) -> None:
    text = run.settings.read_text()
    more = "keep_last = 1\nkeep_every = 1000\n"
    run.settings.write_text(text.replace("[checkpoint]\n", f"[checkpoint]\n{more}"))


def step_of(run: RunDirectory) -> int:
    record = last_record(run.loss)
    return 0 if record is None else int(record["step"])


def plan_for(run: RunDirectory, policy: Path) -> Plan:
    return make_plan(run, load_policy_file(policy), HoldMode.BOUNDARY, {})


def held_of(run: RunDirectory) -> Held:
    """Of the pivot under way, or of the one that is over."""
    over = run.phase_archive(1) / run.pivot.name
    journal = read_pivot(over if over.exists() else run.pivot)
    assert journal is not None
    assert journal.held is not None
    return journal.held


@pytest.fixture
def stopped(tmp_path: Path) -> RunDirectory:
    """At step 18 of 64, with checkpoints of steps 8, 16 and 18, and the stray file beside them."""
    run = make_tiny_run(tmp_path / "run", total_steps=64)
    assert train_here(run, {18: ask_stop}) is Exit.TERMINATED
    plant(run)
    return run


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    write_paragraphs(tmp_path / "added.jsonl", "added", 50)
    path = tmp_path / "policy.toml"
    path.write_text('remove = ["small"]\n[sources.added]\npath = "added.jsonl"\n')
    return path


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDirectory]:
    """A real trainer behind its second checkpoint; it ends with the test, as one that follows."""
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=40)
    keep_last_one(run)
    processes = [start_trainer(run)]

    def launch(*arguments: Any) -> LaunchedTrainer:
        launched = launch_trainer(*arguments)
        processes.append(launched.process)
        return launched

    monkeypatch.setattr(operations, "launch_trainer", launch)
    try:
        wait_for(lambda: step_of(run) > 85, "steps", seconds=90)
        yield run
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_checkpoints_just_written_stay_where_a_stray_file_has_a_later_step(
    live: RunDirectory,
) -> None:
    plant(live)
    stray, planted_at = (live.path / STRAY).read_bytes(), step_of(live)
    wait_for(lambda: step_of(live) > planted_at + 90, "two checkpoints more", seconds=60)
    Operations(live).stop()
    wait_for(lambda: not presence_of(live).is_held, "the end", seconds=60)
    state = read_state(live.state)
    assert state is not None
    assert (state.exit_code, state.alarms) == (Exit.TERMINATED, ())
    assert names(live) == [checkpoint_name(step_of(live)), STRAY]
    assert (live.path / STRAY).read_bytes() == stray
    assert f"skipped {STRAY}: the history ends at step" in live.log.read_text()


def test_pivot_now_is_held_where_the_trainer_held(live: RunDirectory, policy: Path) -> None:
    plant(live)
    assert main(["pivot", str(live.path), "--policy", str(policy), "--yes", "--now"]) == 0
    state = read_state(live.phase_archive(1) / live.state.name)
    assert state is not None
    assert state.exit_code == Exit.HELD
    held = held_of(live)
    assert (held.step, held.checkpoint) == (state.step, checkpoint_name(state.step))
    assert STRAY in names(live)
    assert presence_of(live).is_held


def test_pivot_is_held_at_the_trainers_step_also_where_a_stray_file_is_covered(
    tmp_path: Path, policy: Path
) -> None:
    """The history goes on to step 21, where the trainer crashed; it was held at 18 after that."""
    run = make_tiny_run(tmp_path / "run", total_steps=64)
    with pytest.raises(Crashed):
        train_here(run, {21: crash})
    text = plan_for(run, policy).new_text

    def request_and_plant(training: Training) -> None:
        request_pivot(run, text, mode=HoldMode.NOW, note="", step=18, t=1.0)
        plant(run, 20)
        ask_checkpoint(training)

    assert train_here(run, {18: request_and_plant}) is Exit.HELD
    state = read_state(run.state)
    assert state is not None
    write_state(run.state, replace(state, exit_code=Exit.HELD))  # as the process that ends does
    next(PivotDriver(Operations(run)).walk())
    assert held_of(run).step == 18


def test_pivot_of_a_stopped_run_says_beforehand_where_it_is_held_and_is_held_there(
    stopped: RunDirectory, policy: Path
) -> None:
    driver = PivotDriver(Operations(stopped))
    told = driver.request(plan_for(stopped, policy))
    assert (
        told.message
        == "requested at step 18, to be held where it stands: at the checkpoint of step 18"
    )
    assert next(driver.walk()).message.startswith("held at step 18: step_000018.bin")
    assert held_of(stopped).step == 18


def test_pivot_of_a_run_that_lost_its_history_is_refused_before_anything_is_archived(
    stopped: RunDirectory, policy: Path
) -> None:
    lines = stopped.loss.read_bytes().splitlines(keepends=True)
    stopped.loss.write_bytes(b"".join(lines[:11]).rstrip(b",\n") + b"\n]\n")
    plan = plan_for(stopped, policy)
    with pytest.raises(HistoryError, match="ends at step 10, but there is a checkpoint"):
        PivotDriver(Operations(stopped)).request(plan)
    assert not stopped.pivot.exists()


def test_thinning_by_hand_keeps_the_newest_that_the_history_covers(
    stopped: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["thin", str(stopped.path), "--keep-last", "1"]
    assert main(arguments) == 0
    shown = capsys.readouterr().err
    assert f"{STRAY}: skipped: the history ends at step 18" in shown
    assert main([*arguments, "--yes"]) == 0
    assert {checkpoint_name(18), STRAY} <= set(names(stopped))
    assert checkpoint_name(8) not in names(stopped)


def test_what_no_history_covers_is_not_thinned(
    stopped: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = names(stopped)
    stopped.loss.unlink()
    assert main(["thin", str(stopped.path), "--keep-last", "1", "--yes"]) == 2
    assert "there is no .loss.json; it covers no checkpoint, so all stay" in capsys.readouterr().err
    assert names(stopped) == before


def test_status_tells_of_the_stray_file_and_counts_it_for_nothing(stopped: RunDirectory) -> None:
    view = Follower(stopped).look()
    assert [row.step for row in view.checkpoints] == [8, 16, 18]
    assert [skip.path.name for skip in view.skipped] == [STRAY]
    assert view.alarms == (f"not taken for a checkpoint: {STRAY}: the history ends at step 18",)


def test_verify_finds_the_stray_file_and_nothing_else(
    stopped: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(stopped.path)]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert wrong == [f"WRONG checkpoint {STRAY}: the history ends at step 18"]


def test_fork_from_the_stray_file_is_refused_and_from_an_own_checkpoint_made(
    stopped: RunDirectory,
) -> None:
    with pytest.raises(SettingsError, match=f"{STRAY}: not this run's: the history ends at step"):
        make_fork(stopped, 5000, "f1", settings={}, change=None, t=1.0)
    fork = make_fork(stopped, 16, "f2", settings={}, change=None, t=1.0)
    assert [row.step for row in Follower(fork).look().checkpoints] == [16]


def test_start_goes_on_from_the_newest_that_the_history_covers(
    stopped: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train_here(stopped, until=24) is Exit.FINISHED
    told = capsys.readouterr().out
    assert f"skipped {STRAY}: the history ends at step 18" in told
    assert "resuming from step_000018.bin" in told
    assert STRAY in names(stopped)


def contents(run: RunDirectory) -> dict[str, bytes]:
    paths = [*run.path.glob("step_*"), *run.path.glob(".[ls]*.json*")]
    return {path.name: path.read_bytes() for path in paths if path != run.state}


@pytest.mark.parametrize("lost", ["missing", "empty", "{}", "[1,2,3]"])
def test_start_over_checkpoints_that_no_history_covers_is_refused_and_changes_nothing(
    lost: str, stopped: RunDirectory
) -> None:
    if lost == "missing":
        stopped.loss.unlink()
    else:
        stopped.loss.write_text("" if lost == "empty" else lost)
    before = contents(stopped)
    with pytest.raises(HistoryError, match=r"\.loss\.json"):
        train_here(stopped)
    view = Follower(stopped).look()
    assert (view.newest, len(view.skipped)) == (None, 4)
    assert contents(stopped) == before


def lose_newest(training: Training) -> None:
    """The moment before the trainer says that all is well, and whenever it writes it again."""
    real = training.checkpointer._settle_save

    def settle(*, wait: bool = False) -> None:
        real(wait=wait)
        step = training.checkpointer.newest_step
        if step == training.engine.step:
            (training.history._array.path.parent / checkpoint_name(step)).unlink(missing_ok=True)

    training.checkpointer._settle_save = settle  # type: ignore[method-assign]


def test_stop_whose_checkpoint_is_gone_from_the_disk_ends_with_4_in_words(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")

    def stop(training: Training) -> None:
        lose_newest(training)
        ask_stop(training)

    with pytest.raises(SaveError, match=r"step_000009\.bin: .*it is not there any more") as end:
        train_here(run, {9: stop})
    assert end.value.exit_code == 4


def test_checkpoint_that_was_removed_is_written_again_by_a_stop_at_its_step(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")

    def remove_and_stop(training: Training) -> None:
        training.checkpointer.checkpoint("signal", 0)
        training.checkpointer.settle(wait=True)
        (run.path / checkpoint_name(9)).unlink()
        ask_stop(training)

    assert train_here(run, {9: remove_and_stop}) is Exit.TERMINATED
    assert checkpoint_name(9) in names(run)


def test_stray_file_is_kept_under_another_name_when_the_run_comes_to_its_step(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=24)
    train_here(run, {9: ask_stop})
    plant(run, 16)
    stray = (run.path / checkpoint_name(16)).read_bytes()
    assert train_here(run) is Exit.FINISHED
    assert (run.path / "step_000016.bin.rejected-1").read_bytes() == stray
    state = read_state(run.state)
    assert state is not None
    assert any("kept as step_000016.bin.rejected-1" in note for note in state.notes)
    assert main(["verify", str(run.path)]) == 0


def test_header_that_no_run_can_reach_is_skipped_like_any_other(stopped: RunDirectory) -> None:
    plant(stopped, INT32_MAX)
    assert Follower(stopped).look().newest is not None
    assert [skip.path.name for skip in Follower(stopped).look().skipped] == [
        STRAY,
        checkpoint_name(INT32_MAX),
    ]


def test_another_file_under_the_newest_checkpoints_name_is_not_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, straight = (make_tiny_run(tmp_path / name, total_steps=24) for name in ("run", "straight"))
    train_here(straight)
    train_here(run, until=16)
    plant(run, 16)  # the weights of step 8
    assert train([str(run.path)]) == Exit.USAGE
    assert "step_000016.bin: is not the checkpoint that was audited" in capsys.readouterr().err
    (run.path / checkpoint_name(16)).rename(tmp_path / "away")
    assert train([str(run.path)]) == Exit.FINISHED
    last = checkpoint_name(24)
    assert (run.path / last).read_bytes() == (straight.path / last).read_bytes()
