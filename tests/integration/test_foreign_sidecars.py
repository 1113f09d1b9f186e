"""Sidecars that somebody removes, empties or replaces under a live trainer stay whole."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from console.cli import main
from tests.integration.test_trainer_process import (
    Start,
    assert_stopped_well,
    start,
    state_of,
    wait_for_steps,
    wait_until,
)
from tests.tiny import ask_checkpoint, ask_stop, make_tiny_run, strict_json, timeless, train_here
from trainer.loop import Training
from trainer.rundir.outcomes import Exit, SaveError

__all__ = ["start"]

Touch = Callable[[Path], object]


def empty(path: Path) -> None:
    """`: > .loss.json`"""
    os.truncate(path, 0)


def copy_and_move_back(path: Path) -> None:
    """`cp .loss.json x; mv x .loss.json`"""
    shutil.copy(path, path.with_name("x"))
    path.with_name("x").replace(path)


def put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_link(path: Path) -> None:
    other = path.with_name("another-runs.json")
    path.rename(other)
    path.symlink_to(other)


WAYS: list[Touch] = [Path.unlink, empty, copy_and_move_back]


@pytest.mark.parametrize("touch", WAYS, ids=lambda way: way.__name__)
def test_a_touched_history_is_whole_after_a_stop_and_the_next_start_goes_on_bit_for_bit(
    tmp_path: Path, start: Start, touch: Touch
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=8)
    process = start(run)
    wait_for_steps(run, process, 20)
    touch(run.loss)
    wait_until(lambda: bool(state_of(run).alarms), process, run.log)
    (alarm,) = state_of(run).alarms
    assert alarm.startswith(".loss.json was touched by another process: it was ")
    assert ("kept as .loss.json.foreign-1" in alarm) == (touch is not Path.unlink)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert_stopped_well(run)
    assert main(["verify", str(run.path)]) == 0
    last = strict_json(run.loss)[-1]["step"]
    assert start(run, "--until", str(last + 5)).wait(60) == Exit.FINISHED
    assert state_of(run).alarms == ()
    never = make_tiny_run(tmp_path / "never", total_steps=100_000, every=8)
    train_here(never, until=last + 5)
    assert timeless(strict_json(run.loss)) == timeless(strict_json(never.loss))
    name = f"step_{last + 5:06d}.bin"
    assert (run.path / name).read_bytes() == (never.path / name).read_bytes()


@pytest.mark.parametrize("sidecar", [".loss.json", ".samples.json"])
@pytest.mark.parametrize("touch", [*WAYS, put_folder, put_link], ids=lambda way: way.__name__)
def test_what_is_found_is_kept_beside_and_no_record_is_lost(
    tmp_path: Path, touch: Touch, sidecar: str
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=4)
    path = run.path / sidecar
    found = []

    def act(_: Training) -> None:
        touch(path)
        found.append(path.read_bytes() if path.is_file() else None)

    assert train_here(run, {6: act}) is Exit.FINISHED
    assert [record["step"] for record in strict_json(run.loss)] == list(range(1, 17))
    assert [record["step"] for record in strict_json(run.samples)] == [4, 8, 12, 16]
    kept = path.with_name(f"{sidecar}.foreign-1")
    assert os.path.lexists(kept) == (touch is not Path.unlink)
    assert found == [kept.read_bytes() if kept.is_file() else None]
    assert not path.is_symlink()


def test_each_time_what_is_found_gets_a_name_of_its_own(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=4)

    def write(training: Training) -> None:
        run.loss.write_text(f"by hand {training.engine.step}")

    assert train_here(run, {6: write, 7: write, 16: write}) is Exit.FINISHED
    assert [record["step"] for record in strict_json(run.loss)] == list(range(1, 17))
    kept = [run.path / f".loss.json.foreign-{number}" for number in (1, 2, 3)]
    assert [path.read_text() for path in kept] == ["by hand 6", "by hand 7", "by hand 16"]


def test_a_history_touched_while_steps_are_proven_again_is_mended(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=8)
    train_here(run, {14: ask_stop})
    (run.path / "step_000014.bin").unlink()
    before = run.loss.read_bytes()
    train_here(run, {10: lambda _: run.loss.unlink(), 12: ask_stop})
    assert run.loss.read_bytes() == before


def test_the_last_word_of_a_stop_is_true_on_the_disk(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=4)

    def remove_when_written(training: Training) -> None:
        real_settle = training.checkpointer.settle

        def settle(*, wait: bool = False) -> None:
            real_settle(wait=wait)
            if wait:  # the last look before the end
                run.loss.unlink(missing_ok=True)
                (run.path / "step_000010.bin").unlink(missing_ok=True)

        training.checkpointer.settle = settle  # type: ignore[method-assign]
        ask_checkpoint(training)
        ask_stop(training)

    assert train_here(run, {10: remove_when_written}) is Exit.TERMINATED
    assert_stopped_well(run)
    assert state_of(run).notes[-1] == "step_000010.bin is gone: written again"


def test_a_stop_that_can_not_write_the_history_says_so_and_not_that_all_is_saved(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=4)

    def spoil(training: Training) -> None:
        def sync() -> None:
            raise OSError(28, "No space left on device")

        training.history.sync = sync  # type: ignore[method-assign]
        ask_stop(training)

    with pytest.raises(SaveError, match="No space left"):
        train_here(run, {10: spoil})
