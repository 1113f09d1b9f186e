"""A directory of runs is no run: it is told so, its runs are named, and `status` lists them."""

from pathlib import Path

import orjson
import pytest

from console.cli import main
from tests.tiny import make_tiny_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import State, write_state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    done = make_tiny_run(folder / "a b")
    write_state(done.state, State(doing="finished", step=16, total_steps=16, exit_code=0))
    make_tiny_run(folder / "new")
    (folder / "notes").mkdir()
    (folder / "notes" / "thoughts.txt").write_text("x")
    return folder


def test_status_lists_the_runs_of_a_directory(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(folder)]) == 3
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "a b  finished, step 16 of 16",
        "new  not running, step 0 of 16",
    ]
    assert f"{folder}: is no run, but a directory of runs; name one of them: '{folder}/a b'" in err


def test_status_of_a_directory_of_runs_is_json_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(folder), "--json"]) == 3
    told = orjson.loads(capsys.readouterr().out)
    assert [run["run"] for run in told["runs"]] == ["a b", "new"]


def test_one_that_needs_attention_decides_the_code(folder: Path) -> None:
    (RunDirectory(folder / "new").settings).write_text("seed = [")
    assert main(["status", str(folder)]) == 1


@pytest.mark.parametrize(
    "words",
    [
        *(["verify"], ["stop"], ["checkpoint"], ["thin"], ["service"]),
        *(["pivot", "--continue"], ["fork", "--at", "8", "--name", "x"]),
    ],
)
def test_other_verbs_ask_for_one_of_the_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    before = sorted(folder.rglob("*"))
    assert main([words[0], str(folder), *words[1:]]) == 2
    assert "is no run, but a directory of runs; name one of them: " in capsys.readouterr().err
    assert sorted(folder.rglob("*")) == before


def test_compare_tells_which_of_its_paths_is_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(folder / "a b"), str(folder)]) == 2
    assert "is no run, but a directory of runs" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["status", "verify", "stop"])
def test_a_directory_with_nothing_of_a_run_is_no_new_one(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert main([verb, str(folder / "notes")]) == 2
    assert capsys.readouterr().err.endswith(": is no run: no file of one is in it\n")
