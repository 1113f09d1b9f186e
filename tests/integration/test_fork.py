"""Audit forks of a real tiny run, trained and compared."""

import errno
import hashlib
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from console.cli import main
from console.fork.comparison import compare, read_side
from tests.integration.test_pivot import ask_pivot, change_for, move_files
from tests.tiny import ask_stop, make_tiny_run, strict_json, timeless, train_here
from trainer.rundir.checkpoints import cloning
from trainer.rundir.checkpoints.protected import protected_steps
from trainer.rundir.config.policy_change import PolicyChange
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, HistoryError, SettingsError
from trainer.rundir.pivot.journal import read_pivot
from trainer.rundir.state import read_state


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Sixteen steps of twenty-four, with checkpoints at 8 and 16."""
    run = make_tiny_run(tmp_path_factory.mktemp("forks") / "parent", total_steps=24)
    train_here(run, {16: ask_stop})
    return run


def fork_of(
    run: RunDirectory,
    name: str,
    step: int = 8,
    *,
    settings: Mapping[str, str] | None = None,
    change: PolicyChange | None = None,
) -> RunDirectory:
    return make_fork(run, step, name, settings=settings or {}, change=change, t=1.0)


def digests(run: RunDirectory) -> dict[str, str]:
    return {
        str(path.relative_to(run.path)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in run.path.rglob("*")
        if path.is_file()
    }


def test_two_forks_with_equal_settings_are_byte_identical_and_as_the_parent_would_be(
    parent: RunDirectory,
) -> None:
    before = digests(parent)
    a, b = fork_of(parent, "same-a"), fork_of(parent, "same-b")
    for run in (a, b):
        assert train_here(run) is Exit.FINISHED
    assert digests(parent) == before
    for step in (16, 24):
        name = f"step_{step:06d}.bin"
        assert (a.path / name).read_bytes() == (b.path / name).read_bytes()
    name = "step_000016.bin"
    assert (a.path / name).read_bytes() == (parent.path / name).read_bytes()
    assert timeless(strict_json(a.loss)) == timeless(strict_json(b.loss))
    assert timeless(strict_json(a.loss))[:16] == timeless(strict_json(parent.loss))
    made = compare([read_side(a), read_side(b)])
    assert (made.parted_after, made.audited_step, made.differences) == (24, 24, {})
    assert made.columns[1].verdict.startswith("same-b and same-a are equal on all")


def test_fork_holds_one_checkpoint_the_history_up_to_it_and_where_it_is_from(
    parent: RunDirectory,
) -> None:
    fork = fork_of(parent, "facts", settings={"optimizer.lr": "1e-3", "seed": "9"})
    assert [path.name for path in fork.path.glob("step_*")] == ["step_000008.bin"]
    prefix = fork.loss.read_bytes().removesuffix(b"\n]\n")
    assert parent.loss.read_bytes().startswith(prefix)
    assert [record["step"] for record in strict_json(fork.loss)] == list(range(1, 9))
    assert [record["step"] for record in strict_json(fork.samples)] == [8]
    assert fork.tokenizer.read_bytes() == parent.tokenizer.read_bytes()
    settings = load_settings(fork.settings)
    assert (settings.optimizer.lr, settings.seed) == (1e-3, 9)
    facts = orjson.loads(fork.fork.read_bytes())
    sha256 = hashlib.sha256((parent.path / "step_000008.bin").read_bytes()).hexdigest()
    assert (facts["parent"], facts["step"], facts["sha256"]) == ("parent", 8, sha256)
    assert facts["settings"] == {"optimizer.lr": 1e-3, "seed": 9}, "values keep their type"
    assert not fork.state.exists()
    assert train_here(fork, {12: ask_stop}) is Exit.TERMINATED


def test_fork_of_a_fork_keeps_its_whole_lineage_and_all_bases_are_protected(
    parent: RunDirectory,
) -> None:
    child = fork_of(parent, "child")
    train_here(child, {16: ask_stop})
    grandchild = fork_of(child, "grandchild", 16)
    lineage = orjson.loads(grandchild.fork.read_bytes())["lineage"]
    assert [(base["parent"], base["step"]) for base in lineage] == [("child", 16), ("parent", 8)]
    assert protected_steps(child) == {8: "the fork's base", 16: "the base of the fork grandchild"}
    assert protected_steps(parent)[8].startswith("the base of the fork ")


def test_fork_with_another_policy_begins_a_new_phase_with_a_fresh_bandit(
    parent: RunDirectory,
) -> None:
    fork = fork_of(parent, "policy", change=change_for(parent))
    assert fork.current_phase() == 2
    assert not fork.pivot.exists()
    journal = read_pivot(fork.phase_archive(1) / "pivot.json")
    assert journal is not None
    assert journal.note == "small has nothing left to teach"
    assert train_here(fork) is Exit.FINISHED
    state = read_state(fork.state)
    assert state is not None
    assert (state.phase, state.phase_start_step, set(state.arms)) == (2, 8, {"large", "added"})
    assert sum(arm.pulls for arm in state.arms.values()) == 16
    assert [sample["step"] for sample in strict_json(fork.samples)] == [16, 24]
    same = fork_of(parent, "policy-not")
    train_here(same)
    made = compare([read_side(same), read_side(fork)])
    assert (made.parted_after, made.audited_step) == (8, 24)
    assert 0 < made.shared_rows < len(strict_json(fork.samples)[-1]["val_rows"])
    assert any("training losses are of different texts" in remark for remark in made.remarks)
    assert any("sources that not all have are left out" in remark for remark in made.remarks)


def test_fork_from_before_a_pivot_goes_on_under_the_settings_of_its_phase(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=24)
    train_here(run, {9: ask_pivot()})
    old = run.settings.read_text()
    move_files(run)
    run.pivot.rename(run.phase_archive(1) / "pivot.json")
    train_here(run)
    before, at, after = (fork_of(run, f"f{step}", step) for step in (8, 16, 24))
    assert load_settings(before.settings) == load_settings_of(old, tmp_path)
    assert [fork.current_phase() for fork in (before, at, after)] == [1, 2, 2]
    assert train_here(at) is Exit.FINISHED
    last = "step_000024.bin"
    assert (at.path / last).read_bytes() == (run.path / last).read_bytes()


def load_settings_of(text: str, folder: Path) -> object:
    file = folder / "old.toml"
    file.write_text(text)
    return load_settings(file)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.width": "32"}, r"model\.width: is part of the weights' shape"),
        ({"preset": "'demo'"}, "preset: is part of the weights' shape"),
        ({"policy.large.cap": "1"}, "change by a policy file"),
        ({"optimizer.rl": "1"}, r"optimizer\.rl: no such setting; did you mean optimizer\.lr"),
        ({"seed.lr": "1"}, r"seed\.lr: no such setting; seed is a single value"),
        ({"optimizer.lr": "high"}, r"optimizer\.lr: 'high' is not a number"),
    ],
)
def test_setting_that_does_not_fit_is_refused_and_nothing_is_made(
    settings: dict[str, str], message: str, parent: RunDirectory
) -> None:
    before = sorted(path.name for path in parent.path.parent.iterdir())
    with pytest.raises(SettingsError, match=message):
        fork_of(parent, "refused", settings=settings)
    assert sorted(path.name for path in parent.path.parent.iterdir()) == before


def test_step_without_checkpoint_and_name_that_is_taken_are_refused(
    parent: RunDirectory,
) -> None:
    with pytest.raises(SettingsError, match="no checkpoint of step 9; the nearest is 8"):
        fork_of(parent, "refused", 9)
    for name in ("parent", "", "a/b", ".hidden", ".."):
        with pytest.raises(SettingsError):
            fork_of(parent, name)


def test_damaged_checkpoint_is_no_base_and_half_made_forks_do_not_stay(
    tmp_path: Path,
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=8)
    train_here(run)
    data = bytearray((run.path / "step_000008.bin").read_bytes())
    data[100] ^= 1
    (run.path / "step_000008.bin").write_bytes(data)
    with pytest.raises(HistoryError, match="is not the file that was audited"):
        fork_of(run, "fork")
    assert not [path for path in tmp_path.iterdir() if "fork" in path.name]


@pytest.mark.parametrize("cloned_by", ["hard link", "copy"])
def test_checkpoint_is_cloned_as_cheaply_as_the_file_system_allows(
    cloned_by: str, parent: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloning, "_reflink", lambda *_: False)
    if cloned_by == "copy":

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    fork = fork_of(parent, cloned_by)
    told = orjson.loads(fork.fork.read_bytes())
    assert (told["cloned_by"], told["tokens_cloned_by"]) == (cloned_by, cloned_by)
    for path in parent.tokens.rglob("*.bin"):
        assert (fork.path / path.relative_to(parent.path)).samefile(path) == (cloned_by != "copy")
        assert told["tokens_bytes"] > path.stat().st_size
    base, ours = (run.path / "step_000008.bin" for run in (parent, fork))
    assert ours.read_bytes() == base.read_bytes()
    assert ours.samefile(base) == (cloned_by == "hard link")


def test_verbs_fork_and_compare_speak_to_scripts(
    parent: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    made = ["fork", str(parent.path), "--at", "16", "--name", "verb", "--set", "optimizer.lr=1e-2"]
    assert main(made) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == parent.path.with_name("verb")
    train_here(RunDirectory(path))
    control = fork_of(parent, "verb-control", 16)
    train_here(control)
    capsys.readouterr()
    assert main(["compare", str(control.path), str(path), "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    assert (told["parted_after"], told["last_step"], told["audited_step"]) == (16, 24, 24)
    assert told["differences"] == {"optimizer.lr": [0.003, 0.01]}
    assert told["columns"][1]["against_first"]["rows"] == told["shared_rows"] > 0
    assert main(["compare", str(control.path), str(path)]) == 0
    assert "optimizer.lr" in capsys.readouterr().out
