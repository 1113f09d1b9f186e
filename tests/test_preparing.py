"""`andrea-trainer prepare RUN`: the tokens of a run, and nothing else of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tiny import ROOT, make_tiny_run, train_here
from trainer.cli import main
from trainer.proxy.preparation.encoding import Encoder
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import read_state


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """`main` installs its own."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def files_of(run: RunDirectory) -> dict[str, bytes]:
    kept = [run.tokenizer, *sorted(run.tokens.rglob("*"))]
    return {path.name: path.read_bytes() for path in kept if path.is_file()}


def test_prepare_leaves_what_a_start_takes_as_it_is(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a", total_steps=8)
    assert main(["prepare", str(run.path)]) == Exit.FINISHED
    assert not run.loss.exists()
    prepared = files_of(run)
    assert train_here(run, until=1) is Exit.FINISHED
    assert files_of(run) == prepared


def test_prepare_leaves_the_state_of_a_trained_run_as_it_was(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a", total_steps=8)
    train_here(run, until=2)
    before = read_state(run.state)
    assert main(["prepare", str(run.path)]) == Exit.FINISHED
    after = read_state(run.state)
    assert before is not None
    assert after is not None
    assert (after.doing, after.step, after.arms) == (before.doing, before.step, before.arms)


def test_a_prepared_run_is_said_to_be(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a")
    main(["prepare", str(run.path)])
    state = read_state(run.state)
    assert state is not None
    assert (state.doing, state.reason) == ("", "its sources are prepared")


def test_prepare_is_refused_beside_a_trainer(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a")
    lock = TrainerLock(run.lock)
    try:
        assert main(["prepare", str(run.path)]) == Exit.LOCKED
    finally:
        lock.release()
    assert not run.tokens.exists()


def test_prepare_is_refused_for_another_trainer(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a")
    run.settings.write_text(run.settings.read_text() + '[trainer]\ncommand = ["x"]\n')
    assert main(["prepare", str(run.path)]) == Exit.USAGE
    assert not run.tokens.exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, Exit.TERMINATED), (signal.SIGINT, Exit.INTERRUPTED)]
)
def test_a_stop_keeps_what_is_prepared_and_a_later_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: Exit
) -> None:
    run = make_tiny_run(tmp_path / "a")
    encode: Callable[..., object] = Encoder.encode

    def stop_in_second_source(*arguments: object) -> object:
        if any(run.tokens.glob("*/index.json")):
            os.kill(os.getpid(), number)
        return encode(*arguments)

    monkeypatch.setattr(Encoder, "encode", stop_in_second_source)
    assert main(["prepare", str(run.path)]) == code
    state = read_state(run.state)
    assert state is not None
    assert (state.doing, state.preparing) == ("stopped", None)
    assert "what is prepared stays" in state.reason
    done = {path: path.stat().st_mtime_ns for path in run.tokens.glob("*/index.json")}
    assert len(done) == 1
    monkeypatch.undo()
    assert main(["prepare", str(run.path)]) == Exit.FINISHED
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert len(list(run.tokens.glob("*/index.json"))) == 2


def test_the_consoles_verb_ends_as_the_trainers(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "a")
    lock = TrainerLock(run.lock)
    try:
        command = [sys.executable, "-m", "console", "prepare", str(run.path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    finally:
        lock.release()
    assert done.returncode == Exit.LOCKED
