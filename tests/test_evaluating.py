"""`andrea-console evaluate`: the whole held-out text at a checkpoint, beside a training run."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from console.cli import main as console_main
from console.follow.follower import Follower
from console.process.evaluating import Reached, evaluate
from console.ui.widgets.checkpoint_list import CheckpointList
from console.verbs.evaluate import ProgressLines
from console.verbs.waiting import look_at_all
from tests.tiny import ask_stop, make_tiny_run, strict_json, timeless, train_here
from trainer.engine.engine import Engine
from trainer.evaluating import evaluate as evaluate_here
from trainer.proxy.batches import count_rows, take_rows
from trainer.rundir.checkpoints.coverage import own_checkpoints
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.evaluations import Evaluation, read_evaluation
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, RunError, SettingsError
from trainer.rundir.sources.prepared import read_index, token_folder
from trainer.rundir.sources.token_arrays import held_out_tokens

CONTEXT = 16


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Stopped at step 16 of 24, with checkpoints at 8 and 16."""
    run = make_tiny_run(tmp_path_factory.mktemp("evaluated") / "run", total_steps=24, rules=2)
    train_here(run, {16: ask_stop})
    return run


def told_here(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], **options: Any
) -> list[dict[str, Any]]:
    """What an evaluation in this process has to say."""
    capsys.readouterr()  # a training's
    evaluate_here(run, **{"step": None, "names": [], "device": ""} | options)
    return [orjson.loads(line) for line in capsys.readouterr().out.splitlines()]


def kept(run: RunDirectory, step: int) -> Evaluation:
    found = read_evaluation(run, step)
    assert found is not None
    return found


def test_the_figure_is_the_mean_over_every_held_out_row_the_same_each_time(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_here(run, capsys, step=8)
    first, again = told[-1]["evaluation"], told_here(run, capsys, step=8)[-1]["evaluation"]
    folder = token_folder(run.tokens, "large")
    index = read_index(folder)
    assert index is not None
    tokens = held_out_tokens(folder, index)
    engine = Engine(load_settings(run.settings))
    engine.resume(own_checkpoints(run, engine.parameters.n_params).checkpoints[0])
    n_rows = count_rows(tokens, context=CONTEXT)
    losses = engine.evaluate(take_rows(tokens, np.arange(n_rows), context=CONTEXT))
    rest = tokens[n_rows * CONTEXT :]
    losses += engine.evaluate(rest[None, :].astype(np.int64)) if len(rest) > 1 else []
    sizes = [CONTEXT] * n_rows + [len(rest) - 1] * (len(rest) > 1)
    found = first["sources"]["large"]
    assert found["val_loss"] == pytest.approx(np.average(losses, weights=sizes))
    assert found["tokens"] == len(tokens) - 1
    assert found["val_loss"] == again["sources"]["large"]["val_loss"]
    assert [each for each in told if "note" in each] == [
        {"note": "source small: nothing is held out of it"}
    ]


def test_it_changes_no_file_of_the_run_and_the_run_goes_on_bit_for_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_tiny_run(tmp_path / name / "run", total_steps=24) for name in ("a", "b")]
    for each in runs:
        train_here(each, {16: ask_stop})
    before = bytes_of(runs[1])
    told_here(runs[1], capsys)
    after = bytes_of(runs[1])
    assert after.keys() - before.keys() == {"evaluations/step_000016.json"}
    assert all(after[name] == before[name] for name in before)
    for each in runs:
        assert train_here(each) is Exit.FINISHED
    plain, evaluated = runs
    assert timeless(strict_json(plain.loss)) == timeless(strict_json(evaluated.loss))
    name = "step_000024.bin"
    assert (plain.path / name).read_bytes() == (evaluated.path / name).read_bytes()


def bytes_of(run: RunDirectory) -> dict[str, bytes]:
    paths = [path for path in run.path.rglob("*") if path.is_file()]
    return {str(path.relative_to(run.path)): path.read_bytes() for path in paths}


def test_the_verb_evaluates_beside_a_trainer_and_console_and_status_show_it(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = TrainerLock(run.lock)  # as a live trainer holds it
    try:
        code = console_main(["evaluate", str(run.path), "--source", "large", "--json"])
    finally:
        lock.release()
    said = capsys.readouterr()
    assert code == 0, said.err
    made = orjson.loads(said.out)
    assert (made["step"], made["whole"]["tokens"]) == (16, made["sources"]["large"]["tokens"])
    assert kept(run, 16).sources["large"].val_loss == made["sources"]["large"]["val_loss"]
    view = look_at_all(Follower(run))
    assert view.newest is not None
    assert view.newest.evaluation == kept(run, 16)
    pane = CheckpointList()
    pane.show(view)
    assert f"whole held-out text {made['whole']['val_loss']:.4f}" in pane.subtitle(view.newest)
    console_main(["status", str(run.path), "--json"])
    status = orjson.loads(capsys.readouterr().out)
    assert status["evaluations"][-1]["whole"] == made["whole"]


def test_its_process_ends_when_nobody_reads_on(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    told = evaluate(run, step=8, sources=(), device="")
    assert isinstance(next(each for each in told if not isinstance(each, str)), Reached)
    told.close()  # type: ignore[attr-defined]  # it is a generator
    assert [process.returncode for process in started] == [-signal.SIGTERM]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": 7}, "step_000007.bin: is not there"),
        ({"names": ["lagre"]}, "--source lagre: the run's sources are large, small"),
        ({"names": ["small"]}, "no text is held out"),
        ({"device": "cuda:99"}, "cuda:99 is not there"),
    ],
)
def test_what_cant_be_evaluated_is_refused_by_name(
    run: RunDirectory, options: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SettingsError, match=words):
        told_here(run, capsys, **options)


def test_a_refusal_reaches_the_console_with_its_exit_code(run: RunDirectory) -> None:
    with pytest.raises(RunError, match=r"step_000007.bin: is not there") as raised:
        list(evaluate(run, step=7, sources=(), device=""))
    assert raised.value.exit_code is Exit.USAGE


def test_a_checkpoint_of_other_bytes_than_were_audited_is_not_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=8, rules=2)
    train_here(run)
    path = run.path / "step_000008.bin"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RunError, match="is not the checkpoint that was audited"):
        told_here(run, capsys)


def test_progress_tells_the_share_done_and_the_time_left() -> None:
    progress = ProgressLines()
    loading = progress.line(Reached(source="", done=0, total=10_000_000), 0.0)
    assert loading == "loading; 10M tokens are held out"
    progress.line(Reached(source="web", done=0, total=10_000_000), 100.0)
    line = progress.line(Reached(source="web", done=2_500_000, total=10_000_000), 200.0)
    assert line == "web: 25 % of 10M tokens, 5 min to go"
