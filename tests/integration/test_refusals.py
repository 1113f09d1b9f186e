"""What a start refuses, or tells loudly: what it proves must not be lost by the refusal."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiny import (
    ask_stop,
    make_tiny_run,
    strict_json,
    timeless,
    train_here,
    write_paragraphs,
)
from trainer.cli import first_state, main
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, HistoryError, RunError, SettingsError
from trainer.rundir.state import State, read_state
from trainer.signals import Signals


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """Stopped at step 9, with checkpoints of steps 8 and 9."""
    run = make_tiny_run(tmp_path / "run")
    assert train_here(run, {9: ask_stop}) is Exit.TERMINATED
    return run


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Callable[[RunDirectory], int]:
    """The trainer's own `main` in this process; it may not take the tests' signals."""
    monkeypatch.setattr("trainer.cli.Signals.install", lambda signals: None)
    return lambda run: main([str(run.path)])


def state_of(run: RunDirectory) -> State:
    state = read_state(run.state)
    assert state is not None
    return state


def edit(run: RunDirectory, before: str, after: str) -> None:
    run.settings.write_text(run.settings.read_text().replace(before, after))


def test_refused_setting_is_refused_at_every_further_start(
    run: RunDirectory, trainer: Callable[[RunDirectory], int]
) -> None:
    edit(run, "lr = 3e-3", "lr = 5e-3")
    for _ in range(3):
        assert trainer(run) == Exit.USAGE
        assert "optimizer.lr: 0.003 → 0.005" in state_of(run).reason
    edit(run, "lr = 5e-3", "lr = 3e-3")
    assert trainer(run) == Exit.FINISHED


def assert_stands_where_it_stood(before: State, now: State) -> None:
    assert (now.step, now.total_steps, now.attempt) == (9, before.total_steps, before.attempt)
    assert (now.arms, now.phase_start_step) == (before.arms, before.phase_start_step)
    assert before.arms
    assert now.last_save == before.last_save
    assert now.settings == before.settings


def test_refused_start_leaves_what_the_state_says_of_the_run(
    run: RunDirectory, trainer: Callable[[RunDirectory], int]
) -> None:
    before = state_of(run)
    edit(run, "lr = 3e-3", "lr = 5e-3")
    assert trainer(run) == Exit.USAGE
    now = state_of(run)
    assert (now.doing, now.exit_code) == ("failed", Exit.USAGE)
    assert_stands_where_it_stood(before, now)


def test_start_that_is_stopped_before_it_trains_leaves_what_the_state_says_of_the_run(
    run: RunDirectory,
) -> None:
    before = state_of(run)
    signals = Signals()
    signals.on_stop(signal.SIGTERM, None)
    assert train_here(run, signals=signals) is Exit.TERMINATED
    now = state_of(run)
    assert "nothing was trained" in now.reason
    assert_stands_where_it_stood(before, now)


def test_requests_that_an_earlier_trainer_answered_are_not_counted_for_the_next(
    run: RunDirectory,
) -> None:
    before = state_of(run)
    assert before.last_save is not None
    save = replace(before.last_save, requests=3)
    first = first_state(run, replace(before, last_save=save))
    assert first.last_save == replace(save, requests=0)


def test_setting_that_never_trained_can_be_changed(
    tmp_path: Path, trainer: Callable[[RunDirectory], int]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    edit(run, 'device = "cpu"', 'device = "cpu"\nprecision = "fp16"')
    assert trainer(run) == Exit.USAGE
    assert "train.precision" in state_of(run).reason
    edit(run, 'precision = "fp16"', 'precision = "fp32"')
    assert trainer(run) == Exit.FINISHED


@pytest.mark.parametrize(
    ("key", "line"),
    [("train.device", 'device = "cuda:99"'), ("train.precision", 'precision = "bf16"')],
)
def test_device_and_precision_are_refused_before_anything_is_made_of_the_sources(
    key: str, line: str, tmp_path: Path, trainer: Callable[[RunDirectory], int]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    edit(run, 'device = "cpu"', line if "device" in line else f'device = "cpu"\n{line}')
    assert trainer(run) == Exit.USAGE
    assert key in state_of(run).reason
    assert not [path for path in (run.tokenizer, run.tokens, run.loss) if path.exists()]


def test_lost_state_is_told(run: RunDirectory) -> None:
    run.state.unlink()
    train_here(run)
    assert any("no .state.json of an earlier start" in note for note in state_of(run).notes)


def test_run_that_lost_its_settings_is_not_made_anew(run: RunDirectory) -> None:
    run.settings.unlink()
    with pytest.raises(SettingsError, match="is missing from a run that was trained"):
        ensure_run(run.path)
    assert not run.settings.exists()


def test_directory_with_other_files_is_not_taken_for_a_new_run(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SettingsError, match="is no run"):
        ensure_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_checkpoint_with_values_that_are_not_finite_is_named(run: RunDirectory) -> None:
    newest = run.path / "step_000009.bin"
    with newest.open("r+b") as file:
        file.seek(8)
        file.write(b"\x00\x00\xc0\x7f" * 4)
    with pytest.raises(HistoryError, match=r"step_000009\.bin: holds values that are not finite"):
        train_here(run)


def test_what_a_start_says_of_a_history_that_ends_too_early_brings_the_run_back(
    tmp_path: Path, trainer: Callable[[RunDirectory], int]
) -> None:
    run = make_tiny_run(tmp_path / "my run", every=4)
    assert trainer(run) == Exit.FINISHED
    before = {path.name: path.read_bytes() for path in run.path.glob("step_*.bin")}
    history = strict_json(run.loss)
    run.loss.write_bytes(b"".join(run.loss.read_bytes().splitlines(keepends=True)[:11]))
    assert trainer(run) == Exit.USAGE
    reason = state_of(run).reason
    assert "go on from step_000008.bin" in reason
    subprocess.run(["sh", "-c", reason.split("`")[1]], check=True)
    moved = sorted(path.name for path in run.path.glob("after_step_000008/*"))
    assert moved == ["step_000012.bin", "step_000016.bin"]
    assert trainer(run) == Exit.FINISHED
    assert {path.name: path.read_bytes() for path in run.path.glob("step_*.bin")} == before
    assert timeless(strict_json(run.loss)) == timeless(history)


def test_run_without_any_checkpoint_is_trained_again_under_an_alarm(run: RunDirectory) -> None:
    for path in run.path.glob("step_*.bin"):
        path.unlink()
    seen: list[tuple[str, ...]] = []
    train_here(run, {1: lambda training: seen.append(training.reporter.state.alarms)})
    assert any("all 9 steps of the history are trained again" in alarm for alarm in seen[0])
    assert state_of(run).alarms == (), "over with the first checkpoint"


def test_source_that_is_gone_is_an_alarm_that_names_its_file(run: RunDirectory) -> None:
    (run.path.parent / "run-small.jsonl").unlink()
    train_here(run)
    assert any("small" in alarm and "run-small.jsonl" in alarm for alarm in state_of(run).alarms)


def test_source_that_is_no_text_is_an_error_at_the_start_that_names_its_file(
    tmp_path: Path, trainer: Callable[[RunDirectory], int]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    (tmp_path / "run-small.jsonl").write_bytes(bytes(range(256)) * 9)
    assert trainer(run) == Exit.USAGE
    assert "sources.small: " in (reason := state_of(run).reason)
    assert "run-small.jsonl: is no text" in reason


def test_only_source_without_text_and_tokens_is_an_error_that_names_its_file(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run", sources={"only": 300})
    train_here(run, {9: ask_stop})
    shutil.rmtree(run.tokens)
    (tmp_path / "run-only.jsonl").unlink()
    with pytest.raises(SettingsError, match=r"sources\.only.*run-only\.jsonl"):
        train_here(run)


def test_a_start_that_is_refused_half_way_leaves_the_history_closed(run: RunDirectory) -> None:
    shutil.rmtree(run.tokens)
    other = run.path.parent / "run-large.jsonl"
    write_paragraphs(other, "other", 300)  # found out when the history is open already
    with pytest.raises(RunError):
        train_here(run)
    held = {str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if os.path.lexists(fd)}
    assert not {str(run.loss), str(run.samples)} & held
