"""The runs that may be laid over a run's chart."""

import os
from pathlib import Path

import orjson

from console.fork.beside import runs_beside
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


def make(path: Path, step: int, *, parent: str = "", base: int = 0, age: float = 0) -> RunDirectory:
    path.mkdir()
    run = RunDirectory(path)
    array = RecordArray(run.loss)
    array.append({"step": step, "loss": 1.0})
    array.close()
    os.utime(run.loss, (1e9 - age, 1e9 - age))
    if parent:
        run.fork.write_bytes(orjson.dumps({"parent": parent, "step": base}))
    return run


def test_forks_come_first_then_the_parent_its_other_forks_and_others_by_age(tmp_path: Path) -> None:
    make(tmp_path / "older", 3, age=100)
    make(tmp_path / "newer", 4, age=50)
    make(tmp_path / "parent", 900)
    run = make(tmp_path / "run", 800, parent="parent", base=500)
    make(tmp_path / "cousin", 700, parent="parent", base=600)
    make(tmp_path / "child", 850, parent="run", base=750)
    make(tmp_path / ".child-2.partial", 850, parent="run", base=750)
    (tmp_path / "no-run").mkdir()
    told = [(each.name, each.words) for each in runs_beside(run)]
    assert told == [
        ("child", "fork at step 750, to step 850"),
        ("parent", "its parent, to step 900"),
        ("cousin", "fork of parent at step 600, to step 700"),
        ("newer", "to step 4"),
        ("older", "to step 3"),
    ]


def test_a_link_to_the_run_itself_and_odd_files_are_no_reason_to_fail(tmp_path: Path) -> None:
    run = make(tmp_path / "run", 800, parent="../elsewhere")
    make(tmp_path / "torn", 5)
    (tmp_path / "torn" / ".loss.json").write_bytes(b'[\n{"step":')
    (tmp_path / "run" / "fork.json").write_bytes(b"[]")
    (tmp_path / "link").symlink_to(run.path)
    told = [(each.name, each.step) for each in runs_beside(RunDirectory(tmp_path / "link"))]
    assert told == [("torn", None)]
