"""Something else in the place of a file of the run: named at once, never waited for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from console.cli import main
from tests.tiny import ROOT, make_tiny_run, train_here
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit

OWN = (
    "run.toml",
    ".loss.json",
    ".samples.json",
    ".state.json",
    "pivot.json",
    "fork.json",
    "actions.jsonl",
    "trainer.lock",
    "trainer.log",
    "tokenizer.json",
)
CHECKPOINT = "step_000008.bin"
CACHES = ("tokens/large/index.json", "tokens/large/*.train.bin")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    run = make_tiny_run(tmp_path_factory.mktemp("trained") / "run", total_steps=12, every=4)
    train_here(run)
    return run


@pytest.fixture
def run(trained: RunDirectory, tmp_path: Path) -> RunDirectory:
    return RunDirectory(shutil.copytree(trained.path, tmp_path / "run"))


def put_pipe(run: RunDirectory, name: str) -> Path:
    path = next(iter(run.path.glob(name)), run.path / name)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("name", [*OWN, CHECKPOINT, *CACHES])
def test_no_verb_waits_for_a_pipe_or_ends_in_a_traceback(
    run: RunDirectory, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(run.path, tmp_path / "other")
    policy = tmp_path / "policy.toml"
    policy.write_text("[policy.large]\nfloor = 0.5\n")
    put_pipe(run, name)
    here = str(run.path)
    for command in (
        ["status", here],
        ["status", "--json", here],
        ["verify", here],
        ["compare", here, str(other)],
        ["fork", here, "--at", "4", "--name", "forked"],
        ["thin", here, "--keep-last", "1"],
        ["checkpoint", here],
        ["stop", here],
        ["service", here],
        ["pivot", here, "--policy", str(policy), "--now"],
    ):
        assert isinstance(main(command), int)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [*OWN, CHECKPOINT])
def test_status_and_verify_name_what_is_no_file(
    run: RunDirectory, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put_pipe(run, name)
    main(["status", str(run.path)])
    shown = capsys.readouterr().out
    assert f"{name}" in shown
    assert "is a named pipe, not a file" in shown
    assert main(["verify", str(run.path)]) == 1
    shown = capsys.readouterr().out
    assert name in shown
    assert "is a named pipe, not a file" in shown


@pytest.mark.parametrize("name", OWN)
def test_a_trainer_refuses_to_start_and_leaves_what_it_found(run: RunDirectory, name: str) -> None:
    path = put_pipe(run, name)
    before = {each.name for each in run.path.iterdir()} | {run.lock.name}
    done = subprocess.run(
        [sys.executable, "-m", "trainer", str(run.path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (Exit.USAGE, Exit.SAVE_FAILED)
    assert name in done.stderr
    assert "is a named pipe, not a file; move it away" in done.stderr
    assert "Traceback" not in done.stderr
    assert path.is_fifo()
    assert {each.name for each in run.path.iterdir()} == before


def test_pipes_in_the_place_of_checkpoint_and_caches_cost_only_those(run: RunDirectory) -> None:
    text = run.settings.read_text()
    newest = put_pipe(run, "step_000012.bin")
    for name in CACHES:
        put_pipe(run, name)
    run.settings.write_text(text)
    assert train_here(run) is Exit.FINISHED  # from step 8, on tokens made anew
    assert newest.is_file()
    assert newest.with_name("step_000012.bin.rejected-1").is_fifo()


def test_folders_and_checkpoints_may_lie_on_another_disk_behind_a_link(
    run: RunDirectory, tmp_path: Path
) -> None:
    newest, base = (run.path / f"step_{step:06}.bin" for step in (12, 8))
    with_links = [run.tokens, base, run.tokenizer]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in with_links:
        path.rename(elsewhere / path.name)
        path.symlink_to(elsewhere / path.name)
    whole = newest.read_bytes()
    newest.unlink()
    assert train_here(run) is Exit.FINISHED
    assert newest.read_bytes() == whole
    assert all(path.is_symlink() for path in with_links)
    assert main(["verify", str(run.path)]) == 0
    assert main(["fork", str(run.path), "--at", "8", "--name", "forked"]) == 0
    forked = RunDirectory(tmp_path / "forked")
    assert not (forked.path / base.name).is_symlink()


def test_a_history_that_is_a_link_into_another_run_is_refused_and_not_written(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "theirs.json"
    run.loss.rename(theirs)
    run.loss.symlink_to(theirs)
    before = theirs.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "trainer", str(run.path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == Exit.USAGE
    assert ".loss.json is a link" in done.stderr
    assert theirs.read_bytes() == before
    main(["status", str(run.path)])
    (alarm,) = (x for x in capsys.readouterr().out.splitlines() if "would refuse" in x)
    assert alarm.startswith("ALARM: ")
    assert ".loss.json is a link" in alarm
