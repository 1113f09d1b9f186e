"""Would it start again? The console says so all the time, in the trainer's own words."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from console.cli import main
from tests.integration.test_pivot import ask_pivot, move_files
from tests.tiny import make_tiny_run, train_here
from trainer.cli import main as train
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.start_checks import look_ahead
from trainer.rundir.state import read_state, write_state

Damage = Callable[[RunDirectory], object]
REFUSED = "the next start would refuse: "


def edit(before: str, after: str) -> Damage:
    return lambda run: run.settings.write_text(run.settings.read_text().replace(before, after))


def put(name: str, data: bytes) -> Damage:
    return lambda run: (run.path / name).write_bytes(data)


def lose(name: str) -> Damage:
    return lambda run: (run.path / name).unlink()


def damage_a_line(run: RunDirectory) -> None:
    lines = run.loss.read_bytes().split(b"\n")
    lines[4] = lines[4].replace(b'"loss":', b'"loss":1e400,"was":')
    run.loss.write_bytes(b"\n".join(lines))


def damage_each_line(run: RunDirectory) -> None:
    run.loss.write_bytes(run.loss.read_bytes().replace(b'"loss":', b'"loss":1e400,"was":'))


def lose_sources_and_tokens(run: RunDirectory) -> None:
    shutil.rmtree(run.tokens)
    for path in run.path.parent.glob("*.jsonl"):
        path.unlink()


DAMAGES: dict[str, Damage] = {
    "history gone": lose(".loss.json"),
    "history empty": put(".loss.json", b""),
    "history an object": put(".loss.json", b"{}"),
    "history of numbers": put(".loss.json", b"[1,2,3]"),
    "no number in one record": damage_a_line,
    "no number in each record": damage_each_line,
    "audits of numbers": put(".samples.json", b"[1,2,3]"),
    "other length": edit("total_steps = 16", "total_steps = 17"),
    "a source taken out by hand": lambda run: run.settings.write_text(
        run.settings.read_text().partition("[sources.small]")[0]
    ),
    "no TOML": edit("seed = 7", "seed = "),
    "rules of a newer version": edit("rules = 1", "rules = 99"),
    "no settings": lose("run.toml"),
    "sources and tokens gone": lose_sources_and_tokens,
    "another tokenizer": put("tokenizer.json", b"{}"),
}

SAID_ALIKE = DAMAGES.keys() - {"no number in one record", "no settings"}
"""Of a gap the start knows more: it reads the whole history; without settings it can make a run."""


def told(capsys: pytest.CaptureFixture[str], run: RunDirectory) -> tuple[int, list[str]]:
    """Exit code and alarms of `status`."""
    capsys.readouterr()
    code = main(["status", "--json", str(run.path)])
    return code, orjson.loads(capsys.readouterr().out)["alarms"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert train_here(make_tiny_run(folder / "run")) is Exit.FINISHED
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> RunDirectory:
    """All steps done, with sources of its own."""
    folder = shutil.copytree(finished, tmp_path / "copy")
    run = RunDirectory(folder / "run")
    text = run.settings.read_text().replace(str(finished), str(folder))
    run.settings.write_text(text)
    state = read_state(run.state)
    assert state is not None
    settings = {
        n: v.replace(str(finished), str(folder)) if isinstance(v, str) else v
        for n, v in state.settings.items()
    }
    write_state(run.state, replace(state, settings=settings, doing="finished", exit_code=0))
    return run


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Callable[[RunDirectory], int]:
    """The trainer's own `main` in this process; it may not take the tests' signals."""
    monkeypatch.setattr("trainer.cli.Signals.install", lambda signals: None)
    return lambda run: train([str(run.path)])


@pytest.mark.parametrize("name", DAMAGES)
def test_what_a_start_refuses_is_an_alarm_of_an_ended_run_until_it_is_mended(
    run: RunDirectory,
    name: str,
    trainer: Callable[[RunDirectory], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert told(capsys, run) == (3, [])
    whole = shutil.copytree(tmp_path / "copy", tmp_path / "whole")
    DAMAGES[name](run)
    code, alarms = told(capsys, run)
    assert code == 1
    refused = [alarm.removeprefix(REFUSED) for alarm in alarms if alarm.startswith(REFUSED)]
    assert trainer(run) == Exit.USAGE
    if name in SAID_ALIKE:
        assert refused[0] in capsys.readouterr().err
    assert refused
    shutil.copytree(whole, tmp_path / "copy", dirs_exist_ok=True)
    assert told(capsys, run) == (3, [])


def written(run: RunDirectory) -> dict[Path, tuple[int, int]]:
    found = {path: path.stat() for path in run.path.rglob("*")}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


def test_asking_changes_nothing(run: RunDirectory) -> None:
    damage_a_line(run)
    before = written(run)
    assert look_ahead(run).refusals == ()
    assert written(run) == before


def test_a_tokenizer_of_2_gb_is_refused_before_it_is_read(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    os.truncate(run.tokenizer, 2 << 30)
    code, alarms = told(capsys, run)
    assert code == 1
    assert any("tokenizer.json: holds 2,147,483,648 bytes" in alarm for alarm in alarms), alarms


def test_lost_audits_and_a_lost_tokenizer_are_told_and_refuse_nothing(run: RunDirectory) -> None:
    run.samples.unlink()
    run.tokenizer.unlink()
    ahead = look_ahead(run)
    assert ahead.refusals == ()
    assert [note.partition(":")[0] for note in ahead.notes] == [
        ".samples.json is gone",
        "tokenizer.json is gone",
    ]


def test_start_of_a_new_phase_that_was_killed_can_be_repeated(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=24)
    assert train_here(run, {5: ask_pivot()}) is Exit.HELD
    move_files(run)
    archived = read_state(run.phase_archive(1) / run.state.name)
    assert archived is not None
    # what a start leaves that was killed before it trained: the settings are the last phase's
    write_state(run.state, replace(archived, phase=2, doing="starting"))
    assert look_ahead(run).refusals == ()
    assert train_here(run) is Exit.FINISHED
