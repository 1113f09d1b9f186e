"""A run's branches as rows, from directories and from what the console makes."""

import os
from pathlib import Path

from console.fork.branch_rows import branch_rows
from console.fork.grown import Grown
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import State, write_state


def make_fork_of(parent: RunDirectory, name: str, t: float) -> RunDirectory:
    fork = RunDirectory(parent.path.with_name(name))
    fork.path.mkdir()
    fork.fork.write_text(f'{{"parent": "{parent.name}", "step": 100}}')
    os.utime(fork.fork, (t, t))
    return fork


def test_the_run_comes_first_then_its_forks_by_age_and_none_that_is_still_being_made(
    tmp_path: Path,
) -> None:
    run = RunDirectory(tmp_path / "v3")
    run.path.mkdir()
    for name, t in (("a-newer", 2.0), ("z-older", 1.0), (".x.partial", 3.0)):
        make_fork_of(run, name, t)
    rows = branch_rows(run, ())
    assert [(row.name, row.base) for row in rows] == [
        ("v3", None),
        ("z-older", 100),
        ("a-newer", 100),
    ]


def test_what_the_files_cannot_tell_is_told_by_who_makes_them(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "v3")
    run.path.mkdir()
    waiting = make_fork_of(run, "waits", 1.0)
    ended = make_fork_of(run, "ended", 2.0)
    state = State(doing="stopped", pid=1, exit_code=143, reason="stopped by SIGTERM")
    write_state(ended.state, state)
    grown = (
        Grown(name="waits", path=waiting.path, words="waits for its turn"),
        Grown(name="ended", path=ended.path, words="waits for its turn"),
        Grown(name="v3", words="is not made", is_done=True, problem="the name is taken"),
    )
    rows = branch_rows(run, grown)
    assert [(row.name, row.status.word, row.problem) for row in rows[1:]] == [
        ("waits", "waits for its turn", ""),
        ("ended", "stopped", ""),
        ("v3", "is not made", "the name is taken"),
    ]
