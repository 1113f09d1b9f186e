"""A pivot on a real tiny run: the trainer holds, the files change, a new phase goes on."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import trainer.loop
from tests.tiny import (
    Crashed,
    ask_checkpoint,
    ask_stop,
    crash,
    make_tiny_run,
    start_trainer,
    strict_json,
    timeless,
    train_here,
    write_paragraphs,
)
from trainer.loop import Training
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.config.policy_change import Bounds, PolicyChange, apply_change
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.pivot.journal import HoldMode, Pivot, Stage, read_pivot, request_pivot
from trainer.rundir.pivot.stages import archive, commit, hold, restart, roll_back
from trainer.rundir.records.record_file import canonical
from trainer.rundir.state import State, read_state

ZOMBIE = "repo-docstrings"


def change_for(run: RunDirectory) -> PolicyChange:
    """Adds `added`, removes `small`, changes a bound of `large`."""
    file = run.path.parent / "added.jsonl"
    write_paragraphs(file, "added", 60)
    return PolicyChange(
        added={"added": SourceSettings(path=str(file))},
        removed=("small",),
        bounds={"large": Bounds(cap=0.7)},
        note="small has nothing left to teach",
    )


def request(run: RunDirectory, mode: HoldMode = HoldMode.BOUNDARY, text: str = "") -> Pivot:
    new = text or apply_change(run.settings.read_text(), change_for(run))
    newest = list_checkpoints(run.path, None).newest
    step = newest.step if newest is not None else 0
    return request_pivot(run, new, mode=mode, note="why", step=step, t=time.time())


def ask_pivot(mode: HoldMode = HoldMode.BOUNDARY) -> Callable[[Training], object]:
    """A console that writes the journal and tells the trainer."""

    def act(training: Training) -> None:
        directory = training.history._array.path.parent
        request(RunDirectory(directory), mode)
        ask_checkpoint(training)

    return act


def move_files(run: RunDirectory) -> Pivot:
    """All stages of a held run up to the restart."""
    pivot = read_pivot(run.pivot)
    newest = list_checkpoints(run.path, None).newest
    assert pivot is not None
    assert newest is not None
    lock = TrainerLock(run.lock, pid=0)
    pivot = hold(run, pivot, newest, 1.0)
    pivot = restart(run, commit(run, archive(run, pivot, 2.0), 3.0), 4.0)
    lock.release()
    return pivot


def state_of(run: RunDirectory) -> State:
    state = read_state(run.state)
    assert state is not None
    return state


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_tiny_run(tmp_path / "run", total_steps=24)


def test_requested_pivot_holds_at_the_boundary_and_writes_no_other_checkpoint(
    run: RunDirectory,
) -> None:
    assert train_here(run, {5: ask_pivot()}) is Exit.HELD
    assert [c.step for c in list_checkpoints(run.path, None).checkpoints] == [8]
    assert [(s["step"], s["cause"]) for s in strict_json(run.samples)] == [(8, "pivot")]
    save = state_of(run).last_save
    assert save is not None
    assert (save.cause, save.requests) == ("pivot", 1)


def test_pivot_for_now_holds_after_the_step_under_way(run: RunDirectory) -> None:
    assert train_here(run, {5: ask_pivot(HoldMode.NOW)}) is Exit.HELD
    assert [c.step for c in list_checkpoints(run.path, None).checkpoints] == [5]


def test_request_that_is_taken_back_lets_the_run_go_on(run: RunDirectory) -> None:
    def take_back(_: Training) -> None:
        pivot = read_pivot(run.pivot)
        assert pivot is not None
        roll_back(run, pivot, 1.0)

    assert train_here(run, {5: ask_pivot(), 6: take_back}) is Exit.FINISHED


def test_new_phase_goes_on_from_the_boundary_with_a_fresh_bandit(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_here(run, {5: ask_pivot()})
    before = strict_json(run.loss)
    prefix = run.loss.read_bytes().removesuffix(b"\n]\n")
    given = sum(r["tokens"] // 16 for r in before if r["arm"] == "large")
    move_files(run)
    seen: dict[str, Any] = {}
    real_step = trainer.loop.take_step

    def first_look(training: Training) -> None:
        if not seen:
            parameters = training.engine.parameters
            arrays = (parameters.weights, parameters.m, parameters.v)
            seen["bytes"] = b"".join(array.numpy().tobytes() for array in arrays)
            seen["arms"] = training.feed.bandit.arms()
            seen["given"] = {name: training.feed.rows_given(name) for name in ("large", "added")}
        real_step(training)

    monkeypatch.setattr(trainer.loop, "take_step", first_look)
    assert train_here(run) is Exit.FINISHED
    assert seen["bytes"] == (run.path / "step_000008.bin").read_bytes()[8:]
    assert {name: arm.pulls for name, arm in seen["arms"].items()} == {"large": 0, "added": 0}
    assert seen["given"] == {"large": given, "added": 0}
    assert run.loss.read_bytes().startswith(prefix)
    after = strict_json(run.loss)
    assert [(r["step"], r["phase"]) for r in after[8:]] == [(n, 2) for n in range(9, 25)]
    state = state_of(run)
    assert (state.phase, state.phase_start_step, state.attempt) == (2, 8, 2)
    assert sum(arm.pulls for arm in state.arms.values()) == 16
    assert state.notes == (
        f"phase 2: source large goes on after {given} rows given",
        "phase 2: source added starts at its first row",
    )
    assert [s["step"] for s in strict_json(run.samples)] == [16, 24]


def test_sources_reordered_at_once_are_taken_by_name(tmp_path: Path) -> None:
    ends = []
    for order in (False, True):
        run = make_tiny_run(tmp_path / f"{order}" / "run", sources={"a": 40, "b": 20, "c": 30})
        train_here(run, {8: ask_stop})
        text = apply_change(run.settings.read_text(), change_for_c(run))
        if order:
            head, *tables = text.split("[sources.")
            text = head + "\n" + "".join("[sources." + table + "\n" for table in reversed(tables))
        request(run, text=text)
        move_files(run)
        assert train_here(run) is Exit.FINISHED
        ends.append((run.path / "step_000016.bin").read_bytes())
    assert ends[0] == ends[1]


def change_for_c(run: RunDirectory) -> PolicyChange:
    return dataclasses.replace(change_for(run), removed=("c",), bounds={"a": Bounds(cap=0.7)})


def test_zombie_of_an_earlier_run_never_reaches_the_new_phase(run: RunDirectory) -> None:
    train_here(run, {3: ask_stop})
    written = orjson.loads(run.state.read_bytes())
    written["arms"][ZOMBIE] = {"pulls": 4021, "ema_reward": 0.9, "weight": 1.546}
    run.state.write_bytes(orjson.dumps(written))
    train_here(run, {5: ask_pivot()})
    assert [(z.arm, z.weight) for z in state_of(run).zombies] == [(ZOMBIE, 1.546)]
    move_files(run)
    train_here(run)
    assert ZOMBIE not in run.state.read_text()
    assert state_of(run).zombies == ()
    archived = read_state(run.phase_archive(1) / ".state.json")
    assert archived is not None
    assert archived.arms[ZOMBIE].weight == 1.546


def test_pivot_taken_back_ends_in_the_bytes_of_a_run_without_one(
    run: RunDirectory, tmp_path: Path
) -> None:
    straight = make_tiny_run(tmp_path / "straight" / "run", total_steps=24)
    train_here(straight)
    train_here(run, {5: ask_pivot()})
    roll_back(run, move_files(run), 9.0)
    assert train_here(run) is Exit.FINISHED
    last = "step_000024.bin"
    assert (run.path / last).read_bytes() == (straight.path / last).read_bytes()
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))


def test_crash_between_request_and_boundary_is_trained_again_and_held_there(
    run: RunDirectory,
) -> None:
    with pytest.raises(Crashed):
        train_here(run, {5: ask_pivot(), 7: crash})
    assert train_here(run) is Exit.HELD
    assert [(r["step"], r["phase"]) for r in strict_json(run.loss)] == [(n, 1) for n in range(1, 9)]


def test_pivot_of_a_crashed_run_at_its_newest_checkpoint_supersedes_the_steps_after_it(
    run: RunDirectory,
) -> None:
    with pytest.raises(Crashed):
        train_here(run, {13: crash})
    request(run, HoldMode.NOW)
    move_files(run)
    train_here(run, {12: ask_stop})
    train_here(run)
    history = canonical(strict_json(run.loss))
    assert list(history) == list(range(1, 25))
    assert [record["phase"] for record in history.values()] == [1] * 8 + [2] * 16
    assert sum(arm.pulls for arm in state_of(run).arms.values()) == 16


def test_trainer_started_between_two_phases_refuses_and_changes_nothing(
    run: RunDirectory,
) -> None:
    train_here(run, {5: ask_pivot()})
    pivot = read_pivot(run.pivot)
    newest = list_checkpoints(run.path, None).newest
    assert pivot is not None
    assert newest is not None
    archive(run, hold(run, pivot, newest, 1.0), 2.0)
    process = start_trainer(run)
    assert process.wait(60) == Exit.USAGE
    assert not run.state.exists()
    assert "a pivot is half done (archived)" in run.log.read_text()
    assert f"andrea-console pivot {run.path} --continue" in run.log.read_text()


def test_setting_changed_by_hand_over_a_pivot_is_refused(run: RunDirectory) -> None:
    train_here(run, {5: ask_pivot()})
    move_files(run)
    run.settings.write_text(run.settings.read_text().replace("lr = 3e-3", "lr = 4e-3"))
    with pytest.raises(SettingsError, match=r"optimizer\.lr: 0\.003 → 0\.004"):
        train_here(run)


def test_added_source_without_text_fails_the_start_and_the_pivot_can_be_taken_back(
    run: RunDirectory,
) -> None:
    before = run.settings.read_bytes()
    train_here(run, {5: ask_pivot()})
    state = run.state.read_bytes()
    pivot = move_files(run)
    Path(load_settings(run.settings).sources["added"].path).write_text("")
    with pytest.raises(SettingsError, match=r"sources\.added"):
        train_here(run)
    assert pivot.stage is Stage.RESTARTED
    roll_back(run, pivot, 9.0)
    assert run.settings.read_bytes() == before
    assert run.state.read_bytes() == state
