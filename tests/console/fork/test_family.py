"""The tree of a run: where it comes from, its pivots, its forks."""

from pathlib import Path

import orjson
import pytest

from console.fork.family import family_of
from trainer.rundir.layout import RunDirectory


def make(path: Path, last_step: int, **fork: object) -> RunDirectory:
    run = RunDirectory(path)
    path.mkdir()
    run.loss.write_text(f'[\n{{"step": 1}},\n{{"step": {last_step}}}\n]\n')
    if fork:
        run.fork.write_bytes(orjson.dumps(fork))
    return run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A fork of a fork, with two pivots, and with forks of its own."""
    lineage = [{"parent": "mother", "step": 300}, {"parent": "old", "step": 100}]
    run = make(tmp_path / "run", 900, parent="mother", step=300, lineage=lineage)
    for phase, step in ((1, 400), (2, 600)):
        run.phase_archive(phase).mkdir(parents=True)
        journal = {"held": {"step": step}, "note": "less \x1b[2Jchat"}
        (run.phase_archive(phase) / "pivot.json").write_bytes(orjson.dumps(journal))
    run.phase_archive(3).mkdir()
    (run.phase_archive(3) / ".samples.json").write_text('[\n{"step": 800}\n]\n')
    run.phase_archive(4).mkdir()
    make(tmp_path / "child", 700, parent="run", step=500, settings={"optimizer.lr": 1e-4})
    make(tmp_path / "grandchild", 650, parent="child", step=600)
    make(tmp_path / ".half.partial", 1, parent="run", step=500)
    make(tmp_path / "stranger", 1)
    return run


def test_lineage_pivots_and_forks_are_a_tree_by_step(run: RunDirectory) -> None:
    rows = [(kin.lead, kin.step, kin.text) for kin in family_of(run)]
    assert rows == [
        ("", None, "old"),
        ("└─ ", 100, "mother"),
        ("   └─ ", 300, "run, at step 900"),
        ("      ├─ ", 400, "pivot, phase 2: less \x1b[2Jchat"),
        ("      ├─ ", 500, "child: optimizer.lr 0.0001, at step 700"),
        ("      │  └─ ", 600, "grandchild, at step 650"),
        ("      ├─ ", 600, "pivot, phase 3: less \x1b[2Jchat"),
        ("      └─ ", 800, "pivot, phase 4"),
    ]


def test_only_steps_of_the_run_itself_lead_to_a_step_of_its_chart(run: RunDirectory) -> None:
    kin = family_of(run)
    assert [one.step for one in kin if one.is_on_it] == [300, 400, 500, 600, 800]
    assert [one.text for one in kin if one.is_this] == ["run, at step 900"]


def test_a_circle_and_what_is_no_fork_file_end_the_tree(tmp_path: Path) -> None:
    run = make(tmp_path / "a", 1, parent="b", step=5, lineage=[1, None, {}])
    make(tmp_path / "b", 1, parent="a", step="x", settings=[])
    make(tmp_path / "c", 1).fork.write_bytes(b"[[[")
    assert len(family_of(run)) < 30
    (tmp_path / "a" / "fork.json").write_bytes(b"{}")
    (tmp_path / "b" / ".loss.json").unlink()
    (tmp_path / "b" / ".loss.json").mkdir()
    assert [kin.text for kin in family_of(run)] == ["a, at step 1", "b, at step –"]
