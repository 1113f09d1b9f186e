"""Some hundred mutated runs; `python -m tests.crash.fuzz` makes thousands."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console.verbs.table import VERBS
from tests.crash.fuzz.acts import DRAWN, Act
from tests.crash.fuzz.cases import Arena, Case
from tests.crash.workload import make_small_run
from tests.tiny import ROOT
from trainer.rundir.layout import RunDirectory

_CASES, _SECONDS = 150, 12
_HANG_SECONDS = 3.0
_PATIENT_SECONDS = 60.0
"""What does end is waited for, however busy the machine is."""


def test_no_mutated_run_makes_a_fault() -> None:
    command = [sys.executable, "-m", "tests.crash.fuzz", "--cases", str(_CASES)]
    done = subprocess.run(
        [*command, "--seconds", str(_SECONDS), "--jobs", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_verb_is_drawn() -> None:
    assert VERBS.keys() == DRAWN.keys() - {"console", "trainer"}


def raises(act: Act, run: Path) -> int:
    raise ValueError("planted")


def hangs(act: Act, run: Path) -> int:
    while True:
        time.sleep(1)


def writes_beside(act: Act, run: Path) -> int:
    (run.parent / "other" / "run.toml").write_text("")
    return 0


def ends_oddly(act: Act, run: Path) -> int:
    return 77


def says_control_characters(act: Act, run: Path) -> int:
    os.write(2, b"\x1b[2J\n")  # a forked child may find sys.stderr locked by a thread it lacks
    return 0


def takes_memory(act: Act, run: Path) -> int:
    return len(b"x" * (800 << 20)) & 0


@pytest.mark.parametrize(
    ("planted", "kind"),
    [
        (raises, "traceback"),
        (hangs, "hang"),
        (writes_beside, "outside"),
        (ends_oddly, "exit code"),
        (says_control_characters, "control characters"),
        (takes_memory, "memory"),
    ],
)
def test_a_planted_fault_is_found(
    planted: Callable[[Act, Path], int], kind: str, tmp_path: Path
) -> None:
    assert kind in {wrong.kind for wrong in tried(planted, tmp_path).wrong}


def test_what_is_not_strict_json_is_found(tmp_path: Path) -> None:
    def says_nan(act: Act, run: Path) -> int:
        print('{"loss": NaN}' if act.is_json else "")
        return 0

    arena = arena_in(tmp_path)
    cases = [arena.try_case(1, number, says_nan) for number in range(12)]
    for case in cases:
        kinds = {wrong.kind for wrong in case.wrong}
        assert ("JSON" in kinds) is ("--json" in case.command)
    assert any("--json" in case.command for case in cases)


def test_a_case_is_the_same_by_its_seed_and_number(tmp_path: Path) -> None:
    first, again = (tried(ends_oddly, tmp_path) for _ in range(2))
    assert (first.command, first.mutations) == (again.command, again.mutations)


def tried(planted: Callable[[Act, Path], int], folder: Path) -> Case:
    limit_seconds = _HANG_SECONDS if planted is hangs else _PATIENT_SECONDS
    return arena_in(folder, limit_seconds).try_case(0, 0, planted)


def arena_in(folder: Path, limit_seconds: float = _PATIENT_SECONDS) -> Arena:
    run = RunDirectory(folder / "bases" / "finished")
    if not run.path.exists():
        make_small_run(run.path)
    return Arena(folder=folder / "arena", bases={"finished": run}, limit_seconds=limit_seconds)
