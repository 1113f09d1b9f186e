"""Exact resume over many starts, kills of real processes, passes over a small source."""

import gc
import random
from pathlib import Path

import pytest
import torch

from tests.integration.test_trainer_process import Start, start, wait_for_steps
from tests.tiny import (
    Crashed,
    ask_stop,
    crash,
    make_tiny_run,
    strict_json,
    timeless,
    train_here,
)
from trainer.loop import Training
from trainer.proxy.batches import count_rows
from trainer.proxy.feed import Feed, Pull
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.record_file import RecordTail

__all__ = ["start"]  # the fixture


def assert_equal(run: RunDirectory, straight: RunDirectory, last: int) -> None:
    name = f"step_{last:06d}.bin"
    assert (run.path / name).read_bytes() == (straight.path / name).read_bytes()
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))


def test_fifty_starts_of_one_step_are_fifty_steps(tmp_path: Path) -> None:
    straight, run = (make_tiny_run(tmp_path / n, total_steps=50, every=50) for n in ("s", "r"))
    train_here(straight)
    for step in range(1, 50):
        assert train_here(run, {step: ask_stop}) is Exit.TERMINATED
    assert train_here(run) is Exit.FINISHED
    assert_equal(run, straight, 50)


def test_rows_drawn_over_interruptions_are_those_of_the_straight_run_through_many_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases A9 and B1: a source of so few rows that each pass is some steps."""
    drawn: list[dict[int, bytes]] = []
    n_rows: list[int] = []
    pull = Feed.pull

    def watched(feed: Feed, step: int) -> Pull:
        pulled = pull(feed, step)
        drawn[-1][step] = pulled.rows.tobytes()
        n_rows.append(count_rows(feed.sources["small"].train, context=16))
        return pulled

    monkeypatch.setattr(Feed, "pull", watched)
    straight, run = (
        make_tiny_run(tmp_path / name, total_steps=40, every=20, sources={"small": 6})
        for name in ("s", "r")
    )
    drawn.append({})
    train_here(straight)
    drawn.append({})
    for step in (3, 4, 9, 30):
        train_here(run, {step: ask_stop})
    with pytest.raises(Crashed):
        train_here(run, {33: crash})
    train_here(run)
    assert drawn[0] == drawn[1]
    assert 3 * n_rows[0] < 40 * 4
    assert_equal(run, straight, 40)


@pytest.mark.parametrize("seed", [1, 2])
def test_processes_killed_at_drawn_steps_end_in_the_bytes_of_the_straight_run(
    seed: int, tmp_path: Path, start: Start
) -> None:
    straight, run = (make_tiny_run(tmp_path / n, total_steps=60, every=20) for n in ("s", "r"))
    train_here(straight)
    chance = random.Random(seed)
    for kill_at in sorted(chance.sample(range(2, 58), 2)):
        process = start(run)
        if len(RecordTail(run.loss).look().records) < kill_at:
            wait_for_steps(run, process, kill_at)
        process.kill()
        process.wait()
    assert start(run).wait(60) == Exit.FINISHED
    assert_equal(run, straight, 60)


def live_bytes(training: Training) -> int:
    """Of all tensors that are alive: an observable that a loaded file's copy would show in."""
    gc.collect()
    # not isinstance: that asks properties of every object, and fake tensors have no storage
    tensors = [o for o in gc.get_objects() if type(o) in (torch.Tensor, torch.nn.Parameter)]
    return sum(dict(filter(None, map(storage_of, tensors))).values())


def storage_of(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Its place and its bytes; None of what a compiled model of another test left: it has none."""
    storage = tensor.untyped_storage()
    try:
        return storage.data_ptr(), storage.nbytes()
    except RuntimeError:
        return None


def test_first_steps_after_a_resume_hold_no_more_memory_than_a_fresh_start(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run")
    seen: dict[str, int] = {}
    train_here(run, {2: lambda t: seen.update(fresh=live_bytes(t)), 8: ask_stop})
    gc.collect()
    train_here(run, {10: lambda t: seen.update(resumed=live_bytes(t))})
    assert seen["resumed"] <= seen["fresh"] * 1.01
