"""A pivot under way warns; one that is over has its note on the chart."""

from pathlib import Path

import orjson

from console.view.pivots import PivotBook
from console.view.run_view import Mark, MarkKind
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.policy_change import Bounds, PolicyChange, apply_change
from trainer.rundir.layout import RunDirectory
from trainer.rundir.pivot.journal import HoldMode, request_pivot

MARKS = (
    Mark(step=9, kind=MarkKind.PHASE, label="phase 2"),
    Mark(step=12, kind=MarkKind.RESTART, label="start 3"),
)


def requested(tmp_path: Path) -> RunDirectory:
    run = ensure_run(tmp_path / "run")[0]
    change = PolicyChange(bounds={"stdlib-code": Bounds(cap=0.4)})
    text = apply_change(run.settings.read_text(), change)
    request_pivot(run, text, mode=HoldMode.BOUNDARY, note="less code", step=5, t=1.0)
    return run


def test_pivot_under_way_says_how_to_go_on(tmp_path: Path) -> None:
    run = requested(tmp_path)
    book = PivotBook(run)
    book.look()
    assert book.warning.startswith("a pivot is under way (requested); `andrea-console pivot ")
    run.pivot.unlink()
    book.look()
    assert book.warning == ""


def test_phase_on_the_chart_carries_its_pivots_note(tmp_path: Path) -> None:
    run = requested(tmp_path)
    book = PivotBook(run)
    book.look()
    assert book.label(MARKS) == MARKS
    journal = orjson.loads(run.pivot.read_bytes())
    journal["stage"] = "restarted"
    journal["held"] = {"step": 8, "checkpoint": "step_000008.bin", "bytes": 1}
    run.phase_archive(1).mkdir(parents=True)
    (run.phase_archive(1) / "pivot.json").write_bytes(orjson.dumps(journal))
    run.pivot.unlink()
    book.look()
    labelled = book.label(MARKS)
    assert [mark.label for mark in labelled] == ["phase 2: less code", "start 3"]
    book.look()
    assert book.label(MARKS) is labelled


def test_journal_that_is_none_is_left_out(tmp_path: Path) -> None:
    run = requested(tmp_path)
    run.pivot.write_text("{")
    book = PivotBook(run)
    book.look()
    assert book.warning == ""
    assert book.label(MARKS) == MARKS
