"""The pivot's journal on files: forward and back from every kill."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from trainer.rundir.checkpoints.checkpoint import list_checkpoints, write_checkpoint
from trainer.rundir.checkpoints.protected import protected_steps
from trainer.rundir.config.policy_change import Bounds, PolicyChange, apply_change
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError, SettingsError
from trainer.rundir.pivot.journal import (
    HALF_DONE,
    STAGES,
    HoldMode,
    Pivot,
    Stage,
    hold_wanted,
    how_to_go_on,
    next_boundary,
    read_pivot,
    refuse_if_half_done,
    request_pivot,
    write_pivot,
)
from trainer.rundir.pivot.stages import (
    archive,
    commit,
    finish,
    first_record,
    hold,
    restart,
    roll_back,
)
from trainer.rundir.records.record_file import RecordArray

OLD = """# kept comment
preset = "demo"
[sources.docs]
path = "python:docs"
[sources.repo-docstrings]
path = "python:docstrings"
[policy.docs]
floor = 0.1  # why
"""
NEW = apply_change(
    OLD, PolicyChange(removed=("repo-docstrings",), bounds={"docs": Bounds(cap=0.5)})
)
STATE = b'{"arms": {"repo-docstrings": {"weight": 1.546}}}\n'


VAIN = {".state.json": b"{}", ".samples.json": b"[\n]\n"}
"""What a start of the new phase leaves that fails before its first step."""


class Killed(BaseException):
    """Plays SIGKILL: nothing that handles errors may take it."""


class _Killer:
    """Ends the process's file operations at the one whose turn it is (an audit hook can't be
    removed, so there is one for all tests)."""

    EVENTS = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "open"})

    def __init__(self) -> None:
        self.left: int | None = None
        self.exits = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.left is None or event not in self.EVENTS:
            return
        if event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR):
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            if self.exits:
                os._exit(9)
            raise Killed


KILLER = _Killer()
sys.addaudithook(KILLER)


@pytest.fixture(autouse=True)
def _nobody_is_killed_between_tests() -> Iterator[None]:
    yield
    KILLER.left = None


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "run")


def make_run(path: Path) -> RunDirectory:
    """A run at step 4, as a trainer that knows no journal left it."""
    run = RunDirectory(path)
    path.mkdir()
    run.settings.write_text(OLD)
    losses = RecordArray(run.loss)
    for step in range(1, 5):
        losses.append({"step": step, "phase": 1, "attempt": 1, "arm": "docs", "loss": 1.0 / step})
    losses.close()
    samples = RecordArray(run.samples)
    samples.append({"step": 4, "checkpoint": "step_000004.bin", "score": 61.0, "sha256": "ab"})
    samples.close()
    run.state.write_bytes(STATE)
    write_checkpoint(path, 4, [memoryview(bytes([n] * 8)).cast("B") for n in range(3)])
    return run


def request(run: RunDirectory) -> Pivot:
    return request_pivot(run, NEW, mode=HoldMode.BOUNDARY, note="why", step=4, t=1.0)


def go_on(run: RunDirectory, until: Stage = Stage.RESTARTED) -> Pivot:
    """What the driver does on files, from whatever the journal says."""
    pivot = read_pivot(run.pivot)
    assert pivot is not None
    newest = list_checkpoints(run.path, None).newest
    assert newest is not None
    steps: dict[Stage, Callable[[Pivot], Pivot]] = {
        Stage.REQUESTED: lambda pivot: hold(run, pivot, newest, 2.0),
        Stage.HELD: lambda pivot: archive(run, pivot, 3.0),
        Stage.ARCHIVED: lambda pivot: commit(run, pivot, 4.0),
        Stage.COMMITTED: lambda pivot: restart(run, pivot, 5.0),
    }
    while STAGES.index(pivot.stage) < STAGES.index(until):
        pivot = steps[pivot.stage](pivot)
    return pivot


def go_back(run: RunDirectory) -> None:
    pivot = read_pivot(run.pivot)
    if pivot is not None:
        roll_back(run, pivot, 9.0)


def files_of(run: RunDirectory) -> dict[str, bytes]:
    """Every file by its name, but those that a killed write left beside its own."""
    return {
        str(path.relative_to(run.path)): path.read_bytes()
        for path in sorted(run.path.rglob("*"))
        if path.is_file() and not path.name.endswith(".partial")
    }


def assert_pivoted(run: RunDirectory, before: dict[str, bytes]) -> None:
    files = files_of(run)
    assert "pivot.json" in files
    del files["pivot.json"]
    for name, vain in VAIN.items():
        if files.get(name) == vain:  # of the new phase, not of the archived one
            del files[name]
    assert files == {
        "run.toml": NEW.encode(),
        ".loss.json": before[".loss.json"],
        "step_000004.bin": before["step_000004.bin"],
        "archive/phase_001/.samples.json": before[".samples.json"],
        "archive/phase_001/.state.json": before[".state.json"],
        "archive/phase_001/run.toml": before["run.toml"],
    }


def test_walk_archives_the_sidecars_changes_the_settings_and_leaves_the_history(
    run: RunDirectory,
) -> None:
    before = files_of(run)
    request(run)
    pivot = go_on(run)
    assert_pivoted(run, before)
    assert run.current_phase() == 2
    assert pivot.held is not None
    assert (pivot.held.step, pivot.held.score, pivot.held.sha256) == (4, 61.0, "ab")
    assert [pivot.times[stage] for stage in STAGES] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_finished_pivot_lies_beside_what_it_archived_and_protects_its_boundary(
    run: RunDirectory,
) -> None:
    request(run)
    pivot = go_on(run)
    assert first_record(run, pivot) is None
    losses = RecordArray(run.loss)
    losses.append({"step": 5, "phase": 2, "loss": 0.2})
    losses.close()
    first = first_record(run, pivot)
    assert first is not None
    finish(run, pivot, first, 6.0)
    assert not run.pivot.exists()
    archived = read_pivot(run.phase_archive(1) / "pivot.json")
    assert archived is not None
    assert archived.first_record == {"step": 5, "phase": 2, "loss": 0.2}
    assert archived.note == "why"
    assert protected_steps(run) == {4: "a pivot's base"}


@pytest.mark.parametrize("until", STAGES)
def test_roll_back_from_each_stage_restores_every_byte(until: Stage, run: RunDirectory) -> None:
    before = files_of(run)
    request(run)
    go_on(run, until)
    go_back(run)
    assert files_of(run) == before
    assert not run.archive.exists()


def test_every_stage_can_be_repeated(run: RunDirectory) -> None:
    before = files_of(run)
    request(run)
    pivot = go_on(run)
    for stage, repeat in (
        (Stage.HELD, archive),
        (Stage.ARCHIVED, commit),
        (Stage.COMMITTED, restart),
    ):
        repeat(run, replace(pivot, stage=stage), 7.0)
    assert_pivoted(run, before)


def kills(act: Callable[[RunDirectory], object], run: RunDirectory) -> int:
    """How many file operations `act` makes: as many moments to be killed at."""
    KILLER.left = 1_000_000
    act(run)
    assert KILLER.left is not None
    done, KILLER.left = 1_000_000 - KILLER.left, None
    return done


def killed_at(number: int, act: Callable[[RunDirectory], object], run: RunDirectory) -> None:
    """As a child that dies without a word just before its file operation `number`."""
    child = os.fork()
    if child == 0:
        KILLER.left, KILLER.exits = number, True
        act(run)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def start_new_phase_in_vain(run: RunDirectory) -> None:
    go_on(run)
    for name, vain in VAIN.items():
        (run.path / name).write_bytes(vain)


ENDS: dict[str, Callable[[RunDirectory], object]] = {"continue": go_on, "roll back": go_back}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("then", ENDS)
def test_killed_at_every_file_operation_both_ways_end_in_a_consistent_run(
    first: str, then: str, tmp_path: Path
) -> None:
    def begun(number: int) -> RunDirectory:
        run = make_run(tmp_path / f"{number}")
        request(run)
        if first == "roll back":
            start_new_phase_in_vain(run)
        return run

    count = kills(ENDS[first], begun(1_000_000))
    assert count > 12
    before = files_of(make_run(tmp_path / "before"))
    for number in range(count):
        run = begun(number)
        killed_at(number, ENDS[first], run)
        if then == "continue" and run.pivot.exists():
            go_on(run)
            assert_pivoted(run, before)
        else:
            go_back(run)
            assert files_of(run) == before
        shutil.rmtree(run.path)


def test_killed_while_requesting_leaves_the_run_as_it_was_or_a_whole_request(
    tmp_path: Path,
) -> None:
    count = kills(request, make_run(tmp_path / "count"))
    for number in range(count):
        run = make_run(tmp_path / f"{number}")
        before = files_of(run)
        KILLER.left = number
        with pytest.raises(Killed):
            request(run)
        pivot = read_pivot(run.pivot)
        assert pivot is None or pivot.stage is Stage.REQUESTED
        go_back(run)
        assert files_of(run) == before


def test_second_pivot_is_refused_while_one_is_under_way(run: RunDirectory) -> None:
    request(run)
    with pytest.raises(SettingsError, match=r"under way.*--continue.*--roll-back"):
        request(run)


def test_pivot_that_changes_more_than_sources_and_policy_is_refused(run: RunDirectory) -> None:
    with pytest.raises(SettingsError, match=r"^seed: a pivot changes sources and policy only"):
        request_pivot(
            run,
            OLD.replace("preset", "seed = 4\npreset"),
            mode=HoldMode.NOW,
            note="",
            step=4,
            t=0.0,
        )
    assert not run.pivot.exists()


@pytest.mark.parametrize("stage", [Stage.REQUESTED, Stage.HELD, Stage.ARCHIVED])
def test_settings_edited_during_a_pivot_are_not_overwritten(
    stage: Stage, run: RunDirectory
) -> None:
    request(run)
    go_on(run, stage)
    run.settings.write_text(OLD + "# edited\n")
    with pytest.raises(HistoryError, match="was changed since the pivot was requested"):
        go_on(run)
    assert run.settings.read_text() == OLD + "# edited\n"
    assert run.phase_archive(1).exists() is (stage is Stage.ARCHIVED), "what is archived is as old"


def test_first_record_of_the_new_phase_is_found_however_many_came_after_it(
    run: RunDirectory,
) -> None:
    request(run)
    pivot = go_on(run)
    losses = RecordArray(run.loss)
    for step in range(5, 2_000):
        losses.append({"step": step, "phase": 2, "attempt": 2, "arm": "docs", "loss": 0.2})
    losses.close()
    first = first_record(run, pivot)
    assert first is not None
    assert first["step"] == 5


def test_pivot_with_a_step_of_the_new_phase_cannot_be_taken_back(run: RunDirectory) -> None:
    request(run)
    go_on(run)
    losses = RecordArray(run.loss)
    losses.append({"step": 5, "phase": 2, "loss": 0.2})
    losses.close()
    before = files_of(run)
    with pytest.raises(HistoryError, match="trained a step already"):
        go_back(run)
    assert files_of(run) == before


@pytest.mark.parametrize("stage", STAGES)
def test_trainer_may_start_but_between_two_phases(stage: Stage, run: RunDirectory) -> None:
    request(run)
    go_on(run, stage)
    if stage in HALF_DONE:
        with pytest.raises(SettingsError, match="a pivot is half done"):
            refuse_if_half_done(run)
    else:
        refuse_if_half_done(run)
    assert hold_wanted(run) == (HoldMode.BOUNDARY if stage is Stage.REQUESTED else None)


def test_damaged_journal_refuses_a_start_and_stops_no_step(run: RunDirectory) -> None:
    without_facts = replace(request(run), stage=Stage.HELD)
    write_pivot(run, without_facts)
    half = run.pivot.read_text()
    for text in ("", "{}", "[]", '{"stage": "held"}', '"x"', half):
        run.pivot.write_text(text)
        with pytest.raises(HistoryError, match="not a pivot's journal"):
            refuse_if_half_done(run)
        assert hold_wanted(run) is None


def test_a_journal_that_could_not_be_written_again_is_none(run: RunDirectory) -> None:
    request(run)
    go_on(run, Stage.HELD)
    written = orjson.loads(run.pivot.read_bytes())
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    written["held"]["last_record"] = {"arm": deep}
    run.pivot.write_bytes(json.dumps(written).encode())
    with pytest.raises(HistoryError, match="not a pivot's journal"):
        read_pivot(run.pivot)


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "1"},
        {"note": None},
        {"times": {"requested": "noon"}},
        {"archived": []},
        {"held": []},
        {"held": {"step": "4", "checkpoint": "step_000004.bin", "bytes": 1}},
    ],
)
def test_a_journal_with_a_value_of_another_type_is_none(
    run: RunDirectory, change: dict[str, Any]
) -> None:
    written = orjson.loads(orjson.dumps(request(run)))
    run.pivot.write_bytes(orjson.dumps({**written, **change}))
    with pytest.raises(HistoryError, match="not a pivot's journal"):
        read_pivot(run.pivot)


@pytest.mark.parametrize(
    ("step", "boundary"), [(0, 100), (99, 100), (100, 200), (112_619, 112_700)]
)
def test_next_boundary_is_the_multiple_after_the_step(step: int, boundary: int) -> None:
    assert next_boundary(step, 100) == boundary


def test_what_is_said_to_type_is_words_of_a_shell_whatever_the_runs_name(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "it's a; run")
    commands = how_to_go_on(run).split("`")[1::2]
    typed = [["andrea-console", "pivot", str(run.path), o] for o in ("--continue", "--roll-back")]
    assert [shlex.split(command) for command in commands] == typed
