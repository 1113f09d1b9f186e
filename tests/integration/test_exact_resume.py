"""A run that was interrupted ends in the same bytes as one that never stopped."""

import signal
from pathlib import Path

import pytest

from tests.tiny import (
    Crashed,
    Script,
    ask_checkpoint,
    ask_stop,
    crash,
    make_tiny_run,
    strict_json,
    timeless,
    train_here,
)
from trainer.engine.schedule import learning_rate
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, HistoryError
from trainer.rundir.records.record_file import canonical
from trainer.rundir.state import read_state
from trainer.signals import Signals


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Sixteen steps in one go."""
    run = make_tiny_run(tmp_path_factory.mktemp("straight") / "run")
    assert train_here(run) is Exit.FINISHED
    return run


def last_bytes(run: RunDirectory) -> bytes:
    return (run.path / "step_000016.bin").read_bytes()


def train_to_the_end(run: RunDirectory, scripts: list[Script]) -> None:
    for script in scripts:
        try:
            train_here(run, script)
        except Crashed:
            continue
    assert train_here(run) is Exit.FINISHED


@pytest.mark.parametrize(
    "scripts",
    [
        pytest.param([{5: ask_stop}], id="sigterm"),
        pytest.param([{8: ask_stop}], id="sigterm at a boundary"),
        pytest.param([{3: ask_checkpoint, 11: ask_stop}], id="sigusr1, then sigterm"),
        pytest.param([{13: crash}], id="crash after a checkpoint"),
        pytest.param([{3: crash}], id="crash before any checkpoint"),
        pytest.param([{n: ask_stop} for n in range(1, 11)], id="chain of ten stops"),
        pytest.param([{5: ask_checkpoint, 7: crash}, {12: crash}], id="crashes"),
    ],
)
def test_interrupted_run_ends_in_the_bytes_of_the_straight_one(
    scripts: list[Script], straight: RunDirectory, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_to_the_end(run, scripts)
    assert last_bytes(run) == last_bytes(straight)
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
    ours, theirs = read_state(run.state), read_state(straight.state)
    assert ours is not None
    assert theirs is not None
    assert ours.arms == theirs.arms


def test_further_prompts_change_neither_the_training_nor_the_first_sample(
    straight: RunDirectory, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, {9: ask_stop})
    text = run.settings.read_text()
    run.settings.write_text(text.replace("[audit]", '[audit]\nprompts = ["a run", "of text"]'))
    assert train_here(run) is Exit.FINISHED
    assert last_bytes(run) == last_bytes(straight)
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
    ours, theirs = strict_json(run.samples)[-1], strict_json(straight.samples)[-1]
    written = ours.pop("samples")
    assert [sample["prompt"] for sample in written] == ["", "a run", "of text"]
    assert len({sample["text"] for sample in written}) == 3
    assert all(ours[name] == value for name, value in written[0].items())
    assert ours.keys() == theirs.keys()
    same = ("prompt", "text", "tokens", "score", "val_loss", "val_rows", "sha256", "environment")
    assert [ours[name] for name in same] == [theirs[name] for name in same]


def test_checkpoint_on_request_changes_nothing_that_follows(
    straight: RunDirectory, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, {3: ask_checkpoint, 6: ask_checkpoint})
    assert (run.path / "step_000003.bin").exists()
    assert (run.path / "step_000006.bin").exists()
    assert last_bytes(run) == last_bytes(straight)


@pytest.mark.parametrize("every", [3, 16])
def test_how_often_samples_are_drawn_does_not_change_the_weights(
    every: int, straight: RunDirectory, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run", every=every)
    train_here(run)
    assert last_bytes(run) == last_bytes(straight)


def test_header_counts_the_updates_and_no_step_is_missing_or_twice(
    straight: RunDirectory,
) -> None:
    assert last_bytes(straight)[:4] == (16).to_bytes(4, "little")
    assert [record["step"] for record in strict_json(straight.loss)] == list(range(1, 17))


def test_learning_rate_on_file_is_the_closed_form_over_a_resume(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_to_the_end(run, [{4: ask_stop}, {9: ask_stop}])
    optimizer = load_settings(run.settings).optimizer
    for record in strict_json(run.loss):
        assert record["lr"] == learning_rate(record["step"], 16, optimizer)


def test_replay_after_a_crash_is_proven_and_appends_nothing(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    with pytest.raises(Crashed):
        train_here(run, {13: crash})
    before = run.loss.read_bytes()
    train_here(run, {13: ask_stop})
    state = read_state(run.state)
    assert state is not None
    assert state.replay is not None
    assert (state.replay.first_step, state.replay.last_step) == (9, 13)
    assert (state.replay.proven, state.replay.differing) == (5, 0)
    assert run.loss.read_bytes() == before


def test_replay_that_differs_is_appended_under_its_attempt(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    with pytest.raises(Crashed):
        train_here(run, {10: crash})
    altered = strict_json(run.loss)[8]
    text = f'"loss":{altered["loss"]!r}'.encode()
    run.loss.write_bytes(run.loss.read_bytes().replace(text, b'"loss":9.5', 1))
    train_here(run)
    of_nine = [record for record in strict_json(run.loss) if record["step"] == 9]
    assert [record["attempt"] for record in of_nine] == [1, 2]
    assert canonical(strict_json(run.loss))[9]["loss"] == altered["loss"]


@pytest.mark.parametrize("field", [b'"arm"', b'"tokens"', b'"phase"'])
def test_a_record_that_does_not_tell_its_batch_is_refused_by_step(
    tmp_path: Path, field: bytes
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, {13: ask_stop})
    lines = run.loss.read_bytes().split(b"\n")
    lines[5] = lines[5].replace(field, b'"lost"')
    run.loss.write_bytes(b"\n".join(lines))
    before = run.loss.read_bytes()
    with pytest.raises(HistoryError, match=r"\.loss\.json: the record of step 5 does not tell"):
        train_here(run)
    assert run.loss.read_bytes() == before


def test_every_start_has_a_number_of_its_own_and_tells_of_a_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    numbers = []
    for step in (10, 9):  # the second start proves step 9 anew, and leaves no record
        with pytest.raises(Crashed):
            train_here(run, {step: crash})
        state = read_state(run.state)
        assert state is not None
        numbers.append(state.attempt)
    assert {record["attempt"] for record in strict_json(run.loss)} == {1}
    train_here(run)
    assert [*numbers, strict_json(run.loss)[-1]["attempt"]] == [1, 2, 3]
    assert capsys.readouterr().out.count("the trainer before ended without a word at step") == 2


def test_resume_and_stop_at_once_appends_nothing(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, {8: ask_stop})
    kept = [run.loss, run.samples, run.path / "step_000008.bin"]
    before = [path.read_bytes() for path in kept]
    for _ in range(5):
        signals = Signals()
        signals.on_stop(signal.SIGTERM, None)
        assert train_here(run, signals=signals) is Exit.TERMINATED
    assert [path.read_bytes() for path in kept] == before
    assert [path.name for path in run.path.glob("step_*")] == ["step_000008.bin"]
