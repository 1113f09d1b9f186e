"""An error in the loop keeps what was trained: the last finished step gets its checkpoint."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.tiny import ROOT, make_tiny_run, strict_json, timeless, train_here
from trainer.loop import Training
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, TokensError
from trainer.rundir.state import State, read_state


def steps_on_disk(run: RunDirectory) -> list[int]:
    return [found.step for found in list_checkpoints(run.path, 16_000).checkpoints]


def state_of(run: RunDirectory) -> State:
    return read_state(run.state) or State()


def fail(training: Training) -> None:
    raise ZeroDivisionError("planted")


def test_error_in_the_loop_leaves_a_checkpoint_of_the_last_finished_step(tmp_path: Path) -> None:
    straight, run = make_tiny_run(tmp_path / "straight"), make_tiny_run(tmp_path / "run")
    train_here(straight)
    with pytest.raises(ZeroDivisionError):
        train_here(run, {5: fail})
    assert steps_on_disk(run) == [5]
    save = state_of(run).last_save
    assert save is not None
    assert (save.step, save.cause, save.ok) == (5, "emergency", True)
    assert train_here(run) is Exit.FINISHED
    assert strict_json(run.samples)[0]["cause"] == "owed"
    for name in ("step_000008.bin", "step_000016.bin"):
        assert (run.path / name).read_bytes() == (straight.path / name).read_bytes()
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))


def test_damaged_tokens_end_the_training_in_words_with_what_was_trained(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, until=5)
    for tokens in run.tokens.glob("*/*.train.bin"):
        tokens.write_bytes(b"\xff" * tokens.stat().st_size)
    with pytest.raises(TokensError, match=r"prepared tokens of \w+ are damaged: 65535"):
        train_here(run)
    assert steps_on_disk(run) == [5]
    for folder in run.tokens.iterdir():
        shutil.rmtree(folder)
    assert train_here(run) is Exit.FINISHED


def test_damaged_tokens_of_the_held_out_text_are_found_at_the_start(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, until=5)
    for tokens in run.tokens.glob("*/*.held_out.bin"):
        tokens.write_bytes(b"\xff" * tokens.stat().st_size)
    with pytest.raises(TokensError, match="damaged"):
        train_here(run)


def spoil_weights(training: Training) -> None:
    training.engine.parameters.m[7] = torch.nan
    raise ZeroDivisionError("planted")


def forget_record(training: Training) -> None:
    training.history.step -= 1
    raise ZeroDivisionError("planted")


def stop_half_way(training: Training) -> None:
    training.engine.is_whole = False
    raise ZeroDivisionError("planted")


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (spoil_weights, "the weights of step 5 are not finite"),
        (forget_record, "step 5 has no record in the history"),
        (stop_half_way, "the error came in the middle of update 6"),
    ],
)
def test_what_no_run_could_resume_from_is_not_written(
    action: Callable[[Training], None],
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_tiny_run(tmp_path / "run")
    with pytest.raises(ZeroDivisionError):
        train_here(run, {5: action})
    assert steps_on_disk(run) == []
    assert f"no emergency checkpoint: {why}" in capsys.readouterr().out


def test_error_in_an_update_leaves_the_engine_marked_as_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_in_update(*_: object, **__: object) -> None:
        raise RuntimeError("device lost")

    run = make_tiny_run(tmp_path / "run")
    monkeypatch.setattr("trainer.engine.engine.adamw", fail_in_update)
    with pytest.raises(RuntimeError, match="device lost"):
        train_here(run)
    assert steps_on_disk(run) == []


def test_error_ends_a_real_trainer_with_its_traceback_in_the_log(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    program = (
        "import sys, trainer.loop as loop\n"
        "real = loop.take_step\n"
        "def step(training):\n"
        "    real(training)\n"
        "    if training.engine.step == 5: raise ZeroDivisionError('planted')\n"
        "loop.take_step = step\n"
        "from trainer.cli import main\n"
        "sys.exit(main([sys.argv[1]]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(run.path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == Exit.ERROR
    assert "ZeroDivisionError: planted" in ended.stderr
    assert "Traceback" in ended.stderr
    assert steps_on_disk(run) == [5]
    assert (state_of(run).doing, state_of(run).exit_code) == ("failed", 1)
