"""A trainer serves the directory that it locked, under whatever name, and writes into no other."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_trainer_process import (
    Start,
    assert_stopped_well,
    start,
    state_of,
    wait_for_steps,
    wait_until,
)
from tests.tiny import ROOT, make_tiny_run, strict_json, timeless, train_here
from trainer.persistence.hold import Hold
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SaveError

__all__ = ["start"]


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def start_and_move(
    tmp_path: Path, start: Start, *, every: int
) -> tuple[RunDirectory, RunDirectory, subprocess.Popen[bytes]]:
    """A run that trains as x, and then as y under way."""
    old, moved = make_tiny_run(tmp_path / "x", total_steps=100_000, every=every), tmp_path / "y"
    process = start(old)
    wait_for_steps(old, process, 3)
    old.path.rename(moved)
    return old, RunDirectory(moved), process


@pytest.fixture
def stranger(tmp_path: Path) -> RunDirectory:
    """Another run, trained, whose checkpoints have the names that the live one's will have."""
    run = make_tiny_run(tmp_path / "stranger", total_steps=64, every=8)
    run.settings.write_text(run.settings.read_text().replace("seed = 7", "seed = 8"))
    train_here(run)
    return run


def test_a_renamed_directory_is_served_on_and_the_one_that_took_its_name_is_left_alone(
    tmp_path: Path, start: Start, stranger: RunDirectory
) -> None:
    old, moved, process = start_and_move(tmp_path, start, every=8)
    stranger.path.rename(old.path)
    before = files_below(old.path)
    told = (
        f"run directory moved: {old.path} is now {moved.path}: training goes on, and saves there;"
        " another directory is there now, and is left alone"
    )
    wait_until(lambda: state_of(moved).alarms == (told,), process, moved.log)
    wait_for_steps(moved, process, 40)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert files_below(old.path) == before
    assert_stopped_well(moved)
    assert "/proc/self/fd" not in moved.log.read_text() + moved.state.read_text()


def test_another_run_under_the_old_name_trains_beside_it(
    tmp_path: Path, start: Start, stranger: RunDirectory
) -> None:
    _, moved, process = start_and_move(tmp_path, start, every=50_000)
    new = make_tiny_run(tmp_path / "x", total_steps=16, every=8)
    assert start(new).wait(60) == Exit.FINISHED
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(new)
    assert_stopped_well(moved)


def test_a_run_that_was_renamed_while_it_trained_goes_on_bit_for_bit(
    tmp_path: Path, start: Start
) -> None:
    straight = make_tiny_run(tmp_path / "straight", total_steps=100_000, every=8)
    process = start(straight)
    wait_for_steps(straight, process, 3)
    moved = RunDirectory(tmp_path / "moved")
    straight.path.rename(moved.path)
    wait_for_steps(moved, process, 20)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    records = strict_json(moved.loss)
    last = records[-1]["step"]
    never = make_tiny_run(tmp_path / "never", total_steps=100_000, every=8)
    for name in ("large", "small"):
        shutil.copy(tmp_path / f"straight-{name}.jsonl", tmp_path / f"never-{name}.jsonl")
    train_here(never, until=last)
    assert timeless(strict_json(never.loss)) == timeless(records)
    name = f"step_{last:06d}.bin"
    assert (moved.path / name).read_bytes() == (never.path / name).read_bytes()


def test_moved_back_there_is_nothing_to_tell_any_more(tmp_path: Path, start: Start) -> None:
    run, moved, process = start_and_move(tmp_path, start, every=50_000)
    wait_until(lambda: bool(state_of(moved).alarms), process, moved.log)
    moved.path.rename(run.path)
    wait_until(lambda: not state_of(run).alarms, process, run.log)


def test_a_deleted_directory_ends_the_training_in_words_and_is_not_made_again(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "x", total_steps=100_000, every=50_000)
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainer", str(run.path)],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    try:
        wait_for_steps(run, process, 3)
        while run.path.exists():  # what the trainer puts back meanwhile is removed again
            shutil.rmtree(run.path, ignore_errors=True)
        assert process.wait(60) == Exit.SAVE_FAILED
    finally:
        process.kill()
        process.wait()
    assert f"{run.path}: was deleted while it was trained" in log.read_text()
    assert not run.path.exists()


def test_a_name_by_a_link_that_leads_elsewhere_by_now_is_no_move(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "v3", total_steps=100_000, every=50_000)
    current = RunDirectory(tmp_path / "current")
    current.path.symlink_to(run.path)
    process = start(current)
    wait_for_steps(run, process, 3)
    current.path.unlink()
    (tmp_path / "v4").mkdir()
    current.path.symlink_to(tmp_path / "v4")
    wait_for_steps(run, process, 40)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert list((tmp_path / "v4").iterdir()) == []
    assert state_of(run).alarms == ()
    assert_stopped_well(run)


def test_what_fails_for_a_directory_deleted_while_it_was_opened_is_told_so(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "x")
    told = "x: was deleted while it was trained: nothing can be saved"
    hold = Hold(run)
    shutil.rmtree(run.path)
    with pytest.raises(SaveError, match=told), hold:
        load_settings(hold.run.settings)
