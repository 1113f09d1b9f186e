"""`andrea-trainer prepare RUN --part N/OF`: the tokens that one machine would have made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_preparing import files_of
from tests.tiny import ROOT, make_tiny_run, train_here
from trainer.cli import main
from trainer.preparing_share import share_of
from trainer.proxy.preparation.shares import Share
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, SettingsError


def start_part(run: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "trainer", "prepare", "--part", "auto", str(run)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )


def test_processes_at_once_make_what_one_makes_and_the_last_joins(tmp_path: Path) -> None:
    alone = make_tiny_run(tmp_path / "alone" / "run", rules=3)
    assert main(["prepare", str(alone.path)]) == Exit.FINISHED
    run = make_tiny_run(tmp_path / "shared" / "run", rules=3)
    parts = [start_part(run.path, {"RANK": str(rank), "WORLD_SIZE": "2"}) for rank in range(2)]
    assert [part.wait(120) for part in parts] == [Exit.FINISHED] * 2
    ours, theirs = files_of(run), files_of(alone)
    binary = [name for name in theirs if name.endswith(".bin") or name == "tokenizer.json"]
    assert len(binary) >= 6
    assert {name: ours[name] for name in binary} == {name: theirs[name] for name in binary}
    assert set(ours) == set(theirs)


def test_a_part_says_what_is_missing_and_a_trained_run_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run", sources={"small": 60})
    assert main(["prepare", "--part", "2/2", str(run.path)]) == Exit.FINISHED
    assert "missing: 1/2 of small" in capsys.readouterr().out
    assert train_here(run, until=1) is Exit.FINISHED
    assert main(["prepare", "--part", "1/2", str(run.path)]) == Exit.USAGE
    assert "was trained already" in capsys.readouterr().err


def test_the_same_part_twice_at_once_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run", sources={"small": 60})
    main(["prepare", "--part", "1/2", str(run.path)])
    (folder,) = run.tokens.glob("*/share-1-of-2")
    lock = TrainerLock(folder / "lock.partial")
    assert main(["prepare", "--part", "1/2", str(run.path)]) == Exit.LOCKED
    lock.release()
    assert "share-1-of-2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "environment", "share"),
    [
        ("3/8", {}, Share(3, 8)),
        ("auto", {"RANK": "0", "WORLD_SIZE": "4"}, Share(1, 4)),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "9",
                "SLURM_ARRAY_TASK_MIN": "5",
                "SLURM_ARRAY_TASK_STEP": "2",
                "SLURM_ARRAY_TASK_COUNT": "4",
            },
            Share(3, 4),
        ),
    ],
)
def test_part_is_told_or_of_the_environment(
    part: str, environment: dict[str, str], share: Share
) -> None:
    assert share_of(part, environment) == share


@pytest.mark.parametrize("part", ["0/8", "9/8", "3", "3/8/1", "auto", "3/9999"])
def test_what_is_no_part_is_refused(part: str) -> None:
    with pytest.raises(SettingsError, match="--part"):
        share_of(part, {})
