"""Operations: the guard, the signals, the log of actions."""

import subprocess
import sys
from typing import Any

import orjson
import pytest

from console.follow.follower import Follower
from console.operations.operations import Operations
from console.process.launch import LaunchedTrainer
from console.process.presence import Liveness, Presence, presence_of
from console.process.signals import Ask
from console.view.run_view import RequestStage
from tests.console.conftest import SCRIPTED_TRAINER, Start
from tests.waiting import wait_for
from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes, checkpoint_name
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder, TrainerLock
from trainer.rundir.state import State, write_state


def actions(run: RunDirectory) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in run.actions.read_bytes().splitlines()]


def n_checkpoints(run: RunDirectory) -> int:
    return len(list(run.path.glob("step_*.bin")))


def test_a_checkpoint_is_requested_then_written_and_noted(run: RunDirectory, start: Start) -> None:
    launched = start("--every", "1000000")
    operations = Operations(run)
    follower = Follower(run, operations)
    outcome = operations.checkpoint()
    assert outcome.ok
    assert outcome.message.startswith("checkpoint requested")

    def is_written() -> bool:
        request = follower.look().request
        return request is not None and request.stage is RequestStage.WRITTEN

    wait_for(is_written, "the answer")
    view = follower.look()
    assert view.request is not None
    assert view.newest is not None
    assert view.request.step == view.newest.step
    assert view.newest.cause == "signal"
    (action,) = actions(run)
    assert (action["action"], action["ok"], action["pid"]) == ("checkpoint", True, launched.pid)


def test_presses_before_the_save_are_one(
    run: RunDirectory, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("--every", "1000000")
    operations = Operations(run)
    sent: list[Ask] = []

    def note(run: RunDirectory, ask: Ask) -> Holder:
        sent.append(ask)
        holder = presence_of(run).holder
        assert holder is not None
        return holder

    monkeypatch.setattr("console.operations.operations.send", note)
    assert operations.checkpoint().ok
    second = operations.checkpoint()
    assert second.ok
    assert "already" in second.message
    assert sent == [Ask.CHECKPOINT]


def test_a_save_that_fails_is_told(run: RunDirectory, start: Start) -> None:
    (run.path / "fail-saves").touch()
    start("--every", "1000000")
    operations = Operations(run)
    follower = Follower(run, operations)
    assert operations.checkpoint().ok

    def has_failed() -> bool:
        request = follower.look().request
        return request is not None and request.stage is RequestStage.FAILED

    wait_for(has_failed, "the failure")
    request = follower.look().request
    assert request is not None
    assert "No space left on device" in request.message
    assert not operations.requests.is_open


def test_a_trainer_that_dies_first_fails_the_request(run: RunDirectory, start: Start) -> None:
    (run.path / "pause").touch()
    launched = start("--no-state")
    operations = Operations(run)
    follower = Follower(run, operations)
    operations.launched = launched
    operations.requests.ask(operations._asked(launched.pid, None))
    launched.process.kill()
    launched.process.wait()
    request = follower.look().request
    assert request is not None
    assert request.stage is RequestStage.FAILED
    assert "killed by SIGKILL" in request.message


def test_stop_saves_and_ends_and_a_second_press_sends_nothing(
    run: RunDirectory, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = start("--every", "1000000")
    operations = Operations(run)
    assert operations.stop().ok
    monkeypatch.setattr("console.operations.operations.send", None)
    if launched.exit_code() is None:
        operations.stop()
    assert launched.wait(20) == 143
    assert n_checkpoints(run) == 1


def test_a_start_after_a_crash_has_its_own_word_in_the_log(run: RunDirectory) -> None:
    run.pivot.write_text("{}")
    outcome = Operations(run).restart()
    (action,) = actions(run)
    assert (action["action"], action["ok"]) == ("restart", False)
    assert "pivot" in outcome.message


def test_nothing_running_is_an_outcome_not_an_error(run: RunDirectory) -> None:
    operations = Operations(run)
    for outcome in (operations.checkpoint(), operations.stop()):
        assert not outcome.ok
        assert "no trainer is running" in outcome.message
    assert [action["ok"] for action in actions(run)] == [False, False]
    assert not operations.requests.is_open


def test_read_only_changes_nothing_and_writes_nothing(run: RunDirectory, start: Start) -> None:
    start("--every", "1000000")
    operations = Operations(run, read_only=True)
    for outcome in (operations.checkpoint(), operations.stop(), operations.launch()):
        assert not outcome.ok
        assert "read-only" in outcome.message
    assert not run.actions.exists()


def test_a_trainer_on_another_machine_is_left_alone(run: RunDirectory) -> None:
    lock = TrainerLock(run.lock)
    written = orjson.loads(run.lock.read_bytes()) | {"host": "node-7"}
    run.lock.write_bytes(orjson.dumps(written))
    there = f"on node-7 (pid {written['pid']} there): ssh node-7 kill -s TERM {written['pid']}"
    assert Operations(run).stop().message == f"stop: the trainer runs {there}"
    assert "node-7" in Operations(run).launch().message
    lock.release()


def test_a_trainer_that_says_it_takes_no_signals_yet_gets_none(run: RunDirectory) -> None:
    lock = TrainerLock(run.lock)
    pid = orjson.loads(run.lock.read_bytes())["pid"]
    write_state(run.state, State(pid=pid, doing="starting", takes_signals=False))
    for outcome in (Operations(run).checkpoint(), Operations(run).stop()):
        assert not outcome.ok
        assert "takes no signals yet" in outcome.message
    lock.release()


def test_launch_refuses_a_second_trainer(run: RunDirectory, start: Start) -> None:
    launched = start()
    operations = Operations(run)
    assert f"pid {launched.pid}" in operations.launch().message
    adopted = operations.adopt_or_launch()
    assert adopted.ok
    assert adopted.message == f"watching the trainer (pid {launched.pid})"


def test_of_two_launches_at_once_the_second_is_noted_as_refused(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked, and seen nobody, before either starts a trainer."""
    nobody = Presence(liveness=Liveness.NOBODY)
    monkeypatch.setattr("console.operations.operations.presence_of", lambda run: nobody)
    monkeypatch.setattr("console.process.launch.own_command", lambda run: ["sleep", "600"])
    first, second = Operations(run), Operations(run)
    assert first.launch().ok
    assert first.launched is not None
    refusal = second.launch()
    assert "another trainer holds this run" in refusal.message
    assert f"pid {first.launched.pid}" in refusal.message
    assert second.launched is None
    assert [action["ok"] for action in actions(run)] == [True, False]
    first.launched.kill()


def test_a_trainer_that_has_not_locked_yet_is_starting_and_not_started_twice(
    run: RunDirectory,
) -> None:
    operations = Operations(run)
    with subprocess.Popen(["sleep", "600"]) as process:
        operations.launched = LaunchedTrainer(process=process)
        assert Follower(run, operations).look().status.word == "starting"
        assert "is starting already" in operations.launch().message
        process.kill()


def test_launch_starts_the_command_and_its_end_is_known(run: RunDirectory) -> None:
    options = ["--total-steps", "3"]
    command = [sys.executable, str(SCRIPTED_TRAINER), *options, str(run.path)]
    operations = Operations(run, command=command)
    assert operations.adopt_or_launch().ok
    follower = Follower(run, operations)
    wait_for(lambda: follower.look().status.word == "finished", "the last step")
    assert follower.look().status.detail == "all steps done"
    assert operations.launched is not None
    assert operations.launched.wait(20) == 0


def test_launch_refuses_half_a_pivot_a_finished_run_and_wrong_settings(run: RunDirectory) -> None:
    operations = Operations(run)
    run.pivot.write_text("{}")
    assert "pivot" in operations.adopt_or_launch().message
    run.pivot.unlink()
    settings = load_settings(run.settings)
    size = checkpoint_bytes(settings.model.n_params)
    done = run.path / checkpoint_name(settings.train.total_steps)
    header = settings.train.total_steps.to_bytes(4, "little")
    done.write_bytes(header + settings.model.n_params.to_bytes(4, "little"))
    with done.open("r+b") as file:
        file.truncate(size)
    run.loss.write_text('[\n{"step": 1},\n{"step": 2000}\n]\n')
    assert "all 2,000 steps are done" in operations.launch().message
    run.settings.write_text("seed = 'x'")
    assert "seed" in operations.launch().message
    assert operations.launched is None


def test_a_command_that_is_not_there_is_an_outcome(run: RunDirectory) -> None:
    outcome = Operations(run, command=["/no/such/engine"]).launch()
    assert not outcome.ok
    assert "/no/such/engine" in outcome.message


def test_foreign_trainer_that_dies_without_a_word_has_crashed(run: RunDirectory) -> None:
    operations = Operations(run, command=["sh", "-c", "exit 77"])
    assert operations.launch().ok
    assert operations.launched is not None
    assert operations.launched.wait(20) == 77
    assert operations.look_for_crash() == (True, -1)
    operations.command = ("sh", "-c", "exit 3")
    assert operations.launch().ok
    assert operations.launched.wait(20) == 3
    assert operations.look_for_crash() == (False, -1)


def test_trainer_that_was_asked_to_stop_has_not_crashed_however_it_ends(run: RunDirectory) -> None:
    command = "trap 'exit 1' TERM; touch ready; while true; do sleep 0.01; done"
    operations = Operations(run, command=["sh", "-c", f"cd '{run.path}'; {command}"])
    assert operations.launch().ok
    assert operations.launched is not None
    wait_for((run.path / "ready").exists, "the trap")
    assert operations.stop().ok
    assert operations.launched.wait(20) == 1
    assert operations.look_for_crash() == (False, -1)
    operations.command = ("sh", "-c", "exit 1")
    assert operations.launch().ok
    assert operations.launched.wait(20) == 1
    assert operations.look_for_crash() == (True, -1)


def test_a_read_only_console_starts_no_trainer(run: RunDirectory) -> None:
    outcome = Operations(run, read_only=True).adopt_or_launch()
    assert outcome.message == "launch: this console is read-only"
    assert not run.log.exists()


def test_an_operation_that_can_not_be_noted_is_done_all_the_same(
    run: RunDirectory, start: Start
) -> None:
    launched = start("--every", "1000000")
    run.actions.mkdir()
    outcome = Operations(run).stop()
    assert outcome.ok
    assert "not noted in actions.jsonl" in outcome.message
    assert launched.wait(20) == 143
