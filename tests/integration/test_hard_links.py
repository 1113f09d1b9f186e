"""A copy of a run by hard links (`cp -al`, a backup): each writes into files of its own."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from console.process.presence import presence_of
from tests.integration.test_trainer_process import Start, start, state_of, wait_for_steps
from tests.tiny import make_tiny_run, strict_json, timeless, train_here
from trainer.rundir.actions import log_action
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock, holder_of
from trainer.rundir.outcomes import Exit

__all__ = ["start"]


def linked_copy(run: RunDirectory, name: str) -> RunDirectory:
    copy = run.path.with_name(name)
    shutil.copytree(run.path, copy, copy_function=os.link)
    return RunDirectory(copy)


def files_of(run: RunDirectory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}


def test_a_copy_by_hard_links_trains_on_and_the_run_stays_as_it_is(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=8)
    assert train_here(run, until=5) is Exit.FINISHED
    log_action(run.actions, "stop", "done")
    before = files_of(run)
    copy = linked_copy(run, "copy")
    assert train_here(copy) is Exit.FINISHED
    TrainerLock(copy.lock).release()
    log_action(copy.actions, "launch", "done")
    assert files_of(run) == before
    assert train_here(run) is Exit.FINISHED
    assert timeless(strict_json(run.loss)) == timeless(strict_json(copy.loss))


def test_a_copy_of_a_live_run_is_not_taken_for_live_and_gets_a_lock_of_its_own(
    tmp_path: Path, start: Start
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=50_000)
    process = start(run)
    wait_for_steps(run, process, 3)
    copy = linked_copy(run, "copy")
    assert holder_of(copy.lock) is None
    assert not presence_of(copy).is_held
    holder = holder_of(run.lock)
    assert holder is not None
    assert holder.pid == process.pid
    lock = TrainerLock(copy.lock)
    holders = [holder_of(of.lock) for of in (run, copy)]
    assert [holder and holder.pid for holder in holders] == [process.pid, os.getpid()]
    lock.release()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == Exit.TERMINATED
    assert state_of(run).alarms == ()


@pytest.mark.parametrize("name", [".loss.json", ".samples.json", "actions.jsonl"])
def test_what_a_link_leads_to_elsewhere_is_never_written(tmp_path: Path, name: str) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=8)
    train_here(run, until=5)
    log_action(run.actions, "stop", "done")
    elsewhere = tmp_path / "elsewhere"
    os.link(run.path / name, elsewhere)
    before = elsewhere.read_bytes()
    train_here(run)
    log_action(run.actions, "launch", "done")
    assert elsewhere.read_bytes() == before
    assert (run.path / name).read_bytes().startswith(before[:20])
