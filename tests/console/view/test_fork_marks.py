"""A fork's chart shows where it left its parent and what it changed."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from console.view.fork_marks import ForkBook
from console.view.run_view import Mark, MarkKind
from trainer.rundir.layout import RunDirectory

RESTART = Mark(step=12, kind=MarkKind.RESTART, label="start 3")


def test_a_fork_is_marked_with_its_settings_and_each_fork_before_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    base = {"parent": "v3", "step": 8, "sha256": "0"}
    written = {
        "parent": "v3-a",
        "step": 20,
        "settings": {"optimizer.lr": 1e-4, "optimizer.max_grad_norm": "0.5"},
        "lineage": [{**base, "parent": "v3-a", "step": 20}, base],
    }
    run.fork.write_bytes(orjson.dumps(written))
    book = ForkBook(run)
    marks = (RESTART,)
    joined = book.join(marks)
    assert joined == (
        Mark(step=9, kind=MarkKind.SETTINGS, label="fork of v3"),
        RESTART,
        Mark(step=21, kind=MarkKind.SETTINGS, label="fork of v3-a: lr 0.0001, max_grad_norm 0.5"),
    )
    assert book.join(marks) is joined


def test_a_run_that_is_no_fork_keeps_its_marks(tmp_path: Path) -> None:
    marks = (RESTART,)
    assert ForkBook(RunDirectory(tmp_path)).join(marks) is marks


@pytest.mark.parametrize(
    "written", [None, [1], {}, {"step": "x"}, {"step": 8, "settings": 5, "lineage": [0, 1, {}]}]
)
def test_whatever_is_written_there_is_no_error(tmp_path: Path, written: Any) -> None:
    run = RunDirectory(tmp_path)
    run.fork.write_bytes(orjson.dumps(written))
    assert len(ForkBook(run).join(())) <= 1
