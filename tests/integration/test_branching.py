"""Two branches of a real tiny run, trained by real trainers and put side by side."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from console.fork.branches import Asked, Branches, Order, branch_of
from console.fork.comparison_chart import read_side_by_side
from console.view.run_view import Severity
from tests.tiny import ask_stop, make_tiny_run, train_here
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError


@pytest.fixture
def parent(tmp_path: Path) -> RunDirectory:
    run = make_tiny_run(tmp_path / "v3", total_steps=64)
    train_here(run, {8: ask_stop})
    return run


def asked(order: Order) -> Asked:
    branches = (branch_of("a", "seed=3", note=""), branch_of("b", "policy.large.cap=0.2", note="b"))
    return Asked(step=8, branches=branches, steps=4, order=order)


@pytest.mark.parametrize("order", [Order.IN_TURN, Order.AT_ONCE], ids=lambda order: order.name)
def test_branches_train_exactly_so_many_steps_and_can_be_compared(
    parent: RunDirectory, order: Order
) -> None:
    branching = Branches(parent)
    told = list(branching.grow(asked(order)))
    assert [(one.words, one.is_done) for one in told[-1]] == [("is done, step 12", True)] * 2
    own, *rows = branching.rows(told[-1])
    assert (own.name, own.base) == ("v3", None)
    assert [(row.base, row.step, row.status.word) for row in rows] == [(8, 12, "finished")] * 2
    trained = [[one.words.startswith("trains") for one in grown] for grown in told]
    assert ([True, True] in trained) is (order is Order.AT_ONCE)
    runs = [RunDirectory(row.path) for row in rows if row.path is not None]
    assert {run.name for run in runs} == {"a", "b"}
    for run in runs:
        newest = list_checkpoints(run.path, None).newest
        assert newest is not None
        assert newest.step == 12
    first, second = sorted(runs, key=lambda run: run.name)
    shown = read_side_by_side(first, second)
    assert (shown.comparison.parted_after, shown.comparison.audited_step) == (8, 12)
    assert shown.comparison.columns[1].verdict
    view = shown.chart().series
    assert list(view.step) == [7, 8, 9, 10, 11, 12]
    assert list(view.loss[:2]) == list(view.ema[:2]), "they were one run until they parted"
    beside = read_side_by_side(parent, first).comparison
    assert [column.name for column in beside.columns] == ["v3", "a"], "with the run itself, too"


def test_branches_that_are_only_made_have_no_trainer(parent: RunDirectory) -> None:
    told = list(Branches(parent).grow(asked(Order.NOT)))
    assert all(one.is_done and one.path is not None for one in told[-1])
    assert not (parent.path.with_name("a") / "trainer.log").exists()


def test_stopped_branch_is_told_as_stopped_and_the_other_takes_its_turn_to_the_runs_end(
    parent: RunDirectory,
) -> None:
    branching = Branches(parent)
    is_stopped, words = False, set()
    branches = (
        branch_of("a", "train.total_steps=100000", note=""),
        branch_of("b", "train.total_steps=16", note=""),
    )
    wanted = Asked(step=8, branches=branches, steps=50_000, order=Order.IN_TURN)
    for grown in branching.grow(wanted):
        first, *_ = (row for row in branching.rows(grown) if row.name == "a")
        words |= {row.status.word for row in branching.rows(grown)}
        if first.path is not None and first.status.word == "training" and not is_stopped:
            is_stopped = branching.stop(first.path).ok
    of_a, of_b = branching.rows(grown)[1:]
    assert (of_a.name, of_a.status.word, of_a.status.severity) == ("a", "stopped", Severity.ENDED)
    assert (of_b.name, of_b.status.word, of_b.step) == ("b", "finished", 16)
    assert "waits for its turn" in words
    assert not any(one.problem for one in grown)


def test_name_that_is_taken_is_refused_from_the_child(parent: RunDirectory) -> None:
    wanted = asked(Order.NOT)
    taken = replace(wanted, branches=(replace(wanted.branches[0], name="v3"),))
    with pytest.raises(SettingsError, match="is there already"):
        list(Branches(parent).grow(taken))


def test_no_branch_is_made_of_another_run_that_took_the_name(
    parent: RunDirectory, tmp_path: Path
) -> None:
    branching = Branches(parent)
    parent.path.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", parent.path)
    before = sorted(tmp_path.rglob("*"))
    told = "another directory is under its name: it is "
    with pytest.raises(OSError, match=told):
        list(branching.grow(asked(Order.NOT)))
    with pytest.raises(OSError, match=told):
        branching.rows(())
    with pytest.raises(OSError, match=told):
        branching.memory_needs()
    assert sorted(tmp_path.rglob("*")) == before
