"""What the next start would refuse wants attention while a trainer lives, and after it ended."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from console.cli import main
from tests.console.conftest import Start
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.state import read_state

REFUSED = "the next start would refuse: "


@pytest.fixture
def source(run: RunDirectory, tmp_path: Path) -> Path:
    """The file of the run's only source; nothing is prepared of it."""
    file = tmp_path / "source.txt"
    file.write_text("text")
    head = run.settings.read_text().partition("[sources.")[0]
    run.settings.write_text(f"{head}[sources.text]\npath = '{file}'\n")
    return file


def edit(before: str, after: str) -> Callable[[RunDirectory, Path], object]:
    return lambda run, _: run.settings.write_text(run.settings.read_text().replace(before, after))


EDITS: dict[str, tuple[Callable[[RunDirectory, Path], object], str]] = {
    "other length": (edit("total_steps = 2000", "total_steps = 3000"), "total_steps: 2000 → 3000"),
    "no TOML": (edit("seed = 1337", "seed ="), "not valid TOML"),
    "source removed": (lambda _, file: file.unlink(), "no such file"),
}


def told(capsys: pytest.CaptureFixture[str], run: RunDirectory) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = main(["status", "--json", str(run.path)])
    return code, orjson.loads(capsys.readouterr().out)["alarms"]


@pytest.fixture
def steps(run: RunDirectory, source: Path, start: Start) -> Callable[[], None]:
    """Has the run trained a step; a trainer lives, and takes no further one."""

    def train_a_step() -> None:
        start()
        wait_for(lambda: (last_record(run.loss) or {}).get("step"), "a step")
        (run.path / "pause").touch()

    return train_a_step


@pytest.mark.parametrize("name", EDITS)
def test_status_tells_what_the_next_start_would_refuse_until_it_is_mended(
    run: RunDirectory,
    source: Path,
    steps: Callable[[], None],
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps()
    act, words = EDITS[name]
    before = run.settings.read_text()
    assert told(capsys, run) == (0, [])
    act(run, source)
    code, alarms = told(capsys, run)
    assert code == 1
    assert [alarm for alarm in alarms if alarm.startswith(REFUSED) and words in alarm]
    assert main(["stop", str(run.path)]) == 0
    code, alarms = told(capsys, run)
    assert code == 1
    assert [alarm for alarm in alarms if alarm.startswith(REFUSED) and words in alarm]
    run.settings.write_text(before)
    source.write_text("text")
    assert told(capsys, run) == (3, [])


def test_pivot_of_a_run_that_would_not_start_again_is_refused_before_it_begins(
    run: RunDirectory,
    tmp_path: Path,
    steps: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps()
    policy = tmp_path / "policy.toml"
    policy.write_text("[policy.text]\ncap = 0.4\n")
    edit("total_steps = 2000", "total_steps = 3000")(run, tmp_path)
    assert main(["pivot", str(run.path), "--policy", str(policy), "--yes"]) == 1
    said = capsys.readouterr().err
    assert "NO: the next start would refuse: run.toml was changed since the last start" in said
    assert not run.pivot.exists()
    assert not run.archive.exists()


def test_fork_takes_over_no_settings_that_its_parent_would_not_start_with(
    run: RunDirectory,
    tmp_path: Path,
    steps: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps()
    assert main(["stop", str(run.path)]) == 0
    state = read_state(run.state)
    assert state is not None
    edit("total_steps = 2000", "total_steps = 3000")(run, tmp_path)
    fork = ["fork", str(run.path), "--at", str(state.step), "--name", "forked"]
    assert main(fork) == Exit.USAGE
    assert "total_steps: 2000 → 3000" in capsys.readouterr().err
    assert not (run.path.parent / "forked").exists()
