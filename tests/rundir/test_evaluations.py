"""Evaluations on disk: a small file a checkpoint."""

from dataclasses import replace
from pathlib import Path

import pytest

from trainer.rundir.evaluations import (
    Evaluation,
    HeldOutLoss,
    add_evaluation,
    read_evaluation,
    read_evaluations,
)
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers

WEB = HeldOutLoss(val_loss=3.0, standard_error=0.3, tokens=100, rows=4, bytes=400)
WIKI = HeldOutLoss(val_loss=2.0, standard_error=0.1, tokens=300, rows=9, bytes=900)
MADE = Evaluation(step=200, checkpoint="step_000200.bin", sha256="ab", sources={"web": WEB})


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def test_what_is_kept_is_read_again_and_source_joins_source(run: RunDirectory) -> None:
    add_evaluation(run, MADE)
    add_evaluation(run, replace(MADE, sources={"wiki": WIKI}))
    found = read_evaluations(run)
    assert found.keys() == {200}
    assert found[200].sources["web"] == WEB
    assert found[200].sources["wiki"] == WIKI
    assert found[200].sha256 == "ab"


def test_a_checkpoint_of_other_bytes_takes_no_figure_of_the_one_before(run: RunDirectory) -> None:
    add_evaluation(run, MADE)
    add_evaluation(run, replace(MADE, sha256="cd", sources={"wiki": WIKI}))
    found = read_evaluation(run, 200)
    assert found is not None
    assert found.sources == {"wiki": WIKI}


def test_the_whole_counts_each_token_the_same(run: RunDirectory) -> None:
    whole = replace(MADE, sources={"web": WEB, "wiki": WIKI}).whole
    assert whole is not None
    assert whole.val_loss == pytest.approx(2.25)
    assert whole.tokens == 400
    assert whole.standard_error == pytest.approx(((0.3 * 100) ** 2 + (0.1 * 300) ** 2) ** 0.5 / 400)
    assert replace(MADE, sources={}).whole is None


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"step": 200}', b'{"step": 200, "sources": {"a": 1}}']
)
def test_a_damaged_file_is_no_evaluation_of_a_source(run: RunDirectory, data: bytes) -> None:
    run.evaluations.mkdir()
    (run.evaluations / "step_000200.json").write_bytes(data)
    (run.evaluations / "notes.json").write_bytes(data)
    assert all(not each.sources for each in read_evaluations(run).values())


def test_what_a_killed_evaluation_left_half_written_goes_at_a_start(run: RunDirectory) -> None:
    run.evaluations.mkdir()
    gone = 2**22 + 1  # no process has this number
    (run.evaluations / f".step_000200.json.{gone}.partial").write_bytes(b"{")
    assert remove_leftovers(run) == [f"evaluations/.step_000200.json.{gone}.partial"]
