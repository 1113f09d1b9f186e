from pathlib import Path

import pytest

from trainer.rundir.layout import RunDirectory


def test_a_run_is_called_as_its_directory_however_that_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "v3" / "tokens").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "v3")
    spellings = [tmp_path / "v3", Path(), Path("../v3"), Path("tokens/..")]
    assert {RunDirectory(path).name for path in spellings} == {"v3"}


def test_the_names_are_the_contracts(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    names = [
        run.settings,
        run.tokenizer,
        run.tokens,
        run.loss,
        run.samples,
        run.state,
        run.archive,
        run.pivot,
        run.fork,
        run.actions,
        run.log,
        run.lock,
    ]
    assert [str(path.relative_to(tmp_path)) for path in names] == [
        "run.toml",
        "tokenizer.json",
        "tokens",
        ".loss.json",
        ".samples.json",
        ".state.json",
        "archive",
        "pivot.json",
        "fork.json",
        "actions.jsonl",
        "trainer.log",
        "trainer.lock",
    ]


def test_phases_are_numbered_by_their_archives(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert (run.archived_phases(), run.current_phase()) == ([], 1)
    for name in ("phase_002", "phase_010", "phase_1000", "phase_9", f"phase_{10**20}", "notes"):
        (run.archive / name).mkdir(parents=True)
    (run.archive / "phase_2000").write_text("a file is no phase")
    assert [phase for phase, _ in run.archived_phases()] == [2, 10, 1000]
    assert run.current_phase() == 1001
