"""A run goes on with the text that it has trained on, whatever becomes of files and sidecars."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.integration.test_trainer_process import Start, start, state_of
from tests.tiny import ask_stop, make_tiny_run, strict_json, timeless, train_here, write_paragraphs
from trainer.loop import Training
from trainer.persistence.reporter import Reporter
from trainer.persistence.source_watch import text_alarm
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.config.policy_change import PolicyChange
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.verification import verify
from trainer.signals import Signals

__all__ = ["start"]


def shards_run(path: Path) -> RunDirectory:
    """A run of which one source is a glob of three shards beside it."""
    run = make_tiny_run(path)
    shards = path.parent / "shards"
    shards.mkdir()
    for number in range(3):
        write_paragraphs(shards / f"part-{number}.jsonl", f"shard {number}", 100 + number)
    edit(run, str(path.parent / f"{path.name}-large.jsonl"), str(shards / "*.jsonl"))
    return run


def edit(run: RunDirectory, old: str, new: str) -> None:
    text = run.settings.read_text()
    assert old in text
    run.settings.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that nothing happened to."""
    run = shards_run(tmp_path_factory.mktemp("straight") / "run")
    assert train_here(run) is Exit.FINISHED
    return run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """The same, stopped at step 6."""
    run = shards_run(tmp_path / "run")
    train_here(run, {6: ask_stop})
    return run


def assert_goes_on_as(run: RunDirectory, straight: RunDirectory) -> None:
    assert train_here(run) is Exit.FINISHED
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
    assert digest_of(run.path / "step_000016.bin") == digest_of(straight.path / "step_000016.bin")


def lose_a_shard(run: RunDirectory) -> None:
    (run.path.parent / "shards" / "part-1.jsonl").unlink()


def lose_all_text(run: RunDirectory) -> None:
    shutil.rmtree(run.path.parent / "shards")
    (run.path.parent / "run-small.jsonl").unlink()


def cut_a_shard(run: RunDirectory) -> None:
    os.truncate(run.path.parent / "shards" / "part-2.jsonl", 1000)


def write_a_shard_anew(run: RunDirectory) -> None:
    shard = run.path.parent / "shards" / "part-0.jsonl"
    write_paragraphs(shard, "other words", 100)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lose_a_shard, "part-1.jsonl is gone"),
        (cut_a_shard, "part-2.jsonl has 1,000 bytes instead of "),
        (write_a_shard_anew, "part-0.jsonl "),
        (lose_all_text, "no such file"),
    ],
)
def test_text_that_is_gone_or_changed_while_stopped_is_an_alarm_and_training_goes_on_bit_for_bit(
    run: RunDirectory,
    straight: RunDirectory,
    change: Callable[[RunDirectory], None],
    told: str,
) -> None:
    """It was encoded anew from what was left, the old tokens deleted, with a note."""
    before = {path: digest_of(path) for path in run.tokens.rglob("*.bin")}
    change(run)
    assert_goes_on_as(run, straight)
    (alarm,) = [a for a in state_of(run).alarms if a.startswith(text_alarm("large"))]
    assert told in alarm
    assert "training goes on with the tokens that were prepared" in alarm
    assert not state_of(run).zombies
    assert {path: digest_of(path) for path in run.tokens.rglob("*.bin")} == before


def test_run_is_moved_without_its_text(
    run: RunDirectory, straight: RunDirectory, tmp_path: Path
) -> None:
    lose_all_text(run)
    shutil.copytree(run.path, tmp_path / "elsewhere")
    assert_goes_on_as(RunDirectory(tmp_path / "elsewhere"), straight)


def test_text_that_is_gone_while_training_is_an_alarm_until_it_is_back(tmp_path: Path) -> None:
    run = shards_run(tmp_path / "run")
    shard = tmp_path / "shards" / "part-1.jsonl"
    told = []

    def look(training: Training) -> None:
        training.source_watch.begin()
        training.source_watch.tell(wait=True)
        told.append(training.reporter.state.alarms)

    def lose(training: Training) -> None:
        shard.rename(tmp_path / "away")
        look(training)

    def bring_back(training: Training) -> None:
        (tmp_path / "away").rename(shard)
        look(training)

    train_here(run, {5: lose, 7: bring_back})
    assert "part-1.jsonl is gone" in told[0][0]
    assert told[1] == ()


def test_new_shard_is_told_and_comes_in_by_no_start(
    run: RunDirectory, straight: RunDirectory
) -> None:
    write_paragraphs(run.path.parent / "shards" / "part-9.jsonl", "new", 50)
    assert_goes_on_as(run, straight)
    assert not state_of(run).alarms
    assert any("part-9.jsonl is new; new text comes in" in n for n in state_of(run).notes)


def test_run_of_the_version_before_keeps_its_tokens(
    run: RunDirectory, straight: RunDirectory
) -> None:
    """It wrote no list of files, and no environment into its audits."""
    for files in run.tokens.glob("*/files-*.json"):
        files.unlink()
    forget_environment(run)
    lose_a_shard(run)
    assert_goes_on_as(run, straight)
    assert text_alarm("large") in state_of(run).alarms[0]


def forget_environment(run: RunDirectory) -> None:
    audits = strict_json(run.samples)
    for audit in audits:
        audit.pop("environment")
    run.samples.write_bytes(b"[\n" + b",\n".join(map(orjson.dumps, audits)) + b"\n]\n")


def forget_state(run: RunDirectory) -> None:
    run.state.unlink()


def forget_nothing(run: RunDirectory) -> None:
    pass


def forget_tokens_and_state(run: RunDirectory) -> None:
    shutil.rmtree(run.tokens)
    run.state.unlink()


def forget_audits_and_state(run: RunDirectory) -> None:
    forget_environment(run)
    run.state.unlink()


@pytest.mark.parametrize(
    "forget",
    [forget_nothing, forget_state, forget_tokens_and_state, forget_audits_and_state],
)
def test_lost_tokenizer_is_made_anew_only_where_it_comes_out_the_same(
    run: RunDirectory, straight: RunDirectory, forget: Callable[[RunDirectory], None]
) -> None:
    """Made of what was there, it gave old weights other token ids, and nobody said so."""
    forget(run)
    sha256 = digest_of(run.tokenizer)
    run.tokenizer.unlink()
    small = run.path.parent / "run-small.jsonl"
    data = small.read_bytes()
    write_paragraphs(small, "zebra quux", 12)
    small.write_bytes(small.read_bytes().replace(b"a", b"zq"))
    with pytest.raises(SettingsError, match=r"tokenizer\.json: is gone.*put the file back"):
        train_here(run)
    assert not run.tokenizer.exists()
    small.write_bytes(data)
    assert_goes_on_as(run, straight)
    assert digest_of(run.tokenizer) == sha256


def test_lost_tokenizer_of_which_nothing_is_known_is_not_made_anew(run: RunDirectory) -> None:
    forget_environment(run)
    forget_tokens_and_state(run)
    run.tokenizer.unlink()
    with pytest.raises(SettingsError, match=r"tokenizer\.json: is gone.*nothing tells"):
        train_here(run)
    assert not run.tokenizer.exists()


@pytest.mark.parametrize("forget", [forget_nothing, forget_state, forget_audits_and_state])
def test_another_tokenizer_is_refused_and_found_by_verify(
    run: RunDirectory, tmp_path: Path, forget: Callable[[RunDirectory], None]
) -> None:
    other = make_tiny_run(tmp_path / "other" / "run", sources={"one": 20})
    train_here(other, until=1)
    shutil.copy(other.tokenizer, run.tokenizer)
    forget(run)
    found = [finding for finding in verify(run) if not finding.ok]
    assert "tokenizer" in [finding.part for finding in found]
    with pytest.raises(SettingsError, match=r"tokenizer\.json: is not the one"):
        train_here(run)
    run.tokenizer.unlink()
    (missing,) = [f for f in verify(run) if f.part == "tokenizer"]
    assert not missing.ok


def test_verify_finds_nothing_wrong_with_tokenizer_and_tokens(straight: RunDirectory) -> None:
    found = [f for f in verify(straight) if f.part in ("tokenizer", "tokens")]
    assert [f.part for f in found] == ["tokenizer", "tokens", "tokens"]
    assert all(f.ok for f in found)
    assert "that the run was trained with" in found[0].what


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        ("micro_batch = 2", "micro_batch = 4", "train"),
        ("seed = 7", "seed = 8", "seed"),
        ("cap = 2.0", "cap = 1.5", "policy"),
    ],
)
def test_setting_that_alters_the_run_is_refused_though_the_state_is_lost(
    run: RunDirectory, straight: RunDirectory, old: str, new: str, section: str
) -> None:
    """It was noted only, and the third step had other results."""
    run.state.unlink()
    edit(run, old, new)
    with pytest.raises(SettingsError, match=f"changed in {section} since the newest audit"):
        train_here(run)
    edit(run, new, old)
    run.state.unlink(missing_ok=True)
    assert_goes_on_as(run, straight)


def test_state_lost_after_a_fork_with_other_settings_is_compared_with_the_forks_own_audits(
    run: RunDirectory,
) -> None:
    fork = make_fork(run, 6, "fork", settings={"optimizer.lr": "2e-3"}, change=None, t=0.0)
    train_here(fork, until=9)
    fork.state.unlink()
    assert train_here(fork, until=12) is Exit.FINISHED
    fork.state.unlink()
    edit(fork, "lr = 0.002", "lr = 0.003")
    with pytest.raises(SettingsError, match="changed in optimizer since the newest audit"):
        train_here(fork)


def move_text(run: RunDirectory) -> SourceSettings:
    """To another disk, as a copy that keeps no times; the new path."""
    elsewhere = run.path.parent / "disk 2"
    elsewhere.mkdir()
    for shard in sorted((run.path.parent / "shards").iterdir()):
        (elsewhere / shard.name).write_bytes(shard.read_bytes())
        shard.unlink()
    return SourceSettings(path=f"{elsewhere}/*.jsonl")


@pytest.mark.parametrize("forget", [forget_nothing, forget_state])
def test_same_text_under_another_path_is_the_same_source(
    run: RunDirectory, straight: RunDirectory, forget: Callable[[RunDirectory], None]
) -> None:
    moved = move_text(run)
    forget(run)
    edit(run, str(run.path.parent / "shards" / "*.jsonl"), moved.path)
    assert_goes_on_as(run, straight)
    state = state_of(run)
    assert not state.alarms
    assert state.settings["sources.large.path"] == moved.path
    if forget is forget_nothing:
        assert any("the same text under another path: sources.large" in n for n in state.notes)


def test_another_text_under_another_path_is_refused(run: RunDirectory) -> None:
    moved = move_text(run)
    edit(run, str(run.path.parent / "shards" / "*.jsonl"), moved.path)
    write_paragraphs(run.path.parent / "disk 2" / "part-1.jsonl", "other words", 101)
    with pytest.raises(SettingsError, match=r"alters the run: sources\.large\.path"):
        train_here(run)


def test_pivot_of_a_fork_takes_the_same_text_under_another_path(run: RunDirectory) -> None:
    moved = move_text(run)
    change = PolicyChange(added={"large": moved})
    fork = make_fork(run, 6, "fork", settings={}, change=change, t=0.0)
    assert train_here(fork, until=8) is Exit.FINISHED
    assert not state_of(fork).alarms
    indexes = [orjson.loads(p.read_bytes()) for p in (run.tokens / "large").glob("index.json")]
    made = orjson.loads((fork.tokens / "large" / "index.json").read_bytes())
    assert made["fingerprint"] == indexes[0]["fingerprint"]
    write_paragraphs(run.path.parent / "disk 2" / "part-1.jsonl", "other words", 101)
    with pytest.raises(SettingsError, match="is not the text of"):
        make_fork(run, 6, "other", settings={}, change=change, t=0.0)


def test_folder_that_cannot_be_read_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a fake: root, who runs some tests, can read every folder."""
    run = shards_run(tmp_path / "run")
    edit(run, str(tmp_path / "shards" / "*.jsonl"), str(tmp_path / "shards" / "**" / "*.jsonl"))
    (tmp_path / "shards" / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    train_here(run, until=2)
    (note,) = [note for note in state_of(run).notes if "can't be read" in note]
    assert note.startswith("source large: ")
    assert "shards/closed" in note


def wait_for_end(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=60)


@pytest.mark.parametrize("what", ["reading small", "training the tokenizer", "preparing large"])
def test_stop_is_honoured_in_each_phase_of_preparing(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the start after it trains as if nothing had been begun."""
    run = make_tiny_run(tmp_path / "run")
    signals = Signals()
    soon = Reporter.soon

    def stopping(reporter: Reporter, view: Callable[[], dict[str, Any]]) -> None:
        if view()["detail"].startswith(what):
            signals.on_stop(signal.SIGTERM, None)
        soon(reporter, view)

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "soon", stopping)
        assert train_here(run, signals=signals) is Exit.TERMINATED
    assert not run.loss.exists() or not strict_json(run.loss)
    straight = make_tiny_run(tmp_path / "other" / "run")
    train_here(straight, until=8)
    train_here(run, until=8)
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))


def test_stop_is_honoured_while_folders_are_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looked at the signal while a glob went round and round."""
    run = make_tiny_run(tmp_path / "run")
    edit(run, str(tmp_path / "run-small.jsonl"), str(tmp_path / "tree" / "**" / "*.txt"))
    (tmp_path / "tree" / "a").mkdir(parents=True)
    signals = Signals()
    scandir = os.scandir

    def stopping(path: str | Path) -> object:
        if "tree" in str(path):
            signals.on_stop(signal.SIGTERM, None)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", stopping)
        assert train_here(run, signals=signals) is Exit.TERMINATED


def test_links_that_lead_round_are_no_more_text(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run")
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"{number}.txt").write_text(f"text {number} " * 400)
    (tree / "self").symlink_to(".")
    (tree / "up").symlink_to("..")
    edit(run, str(tmp_path / "run-small.jsonl"), str(tree / "**" / "*.txt"))
    train_here(run, until=2)
    index = orjson.loads((run.tokens / "small" / "index.json").read_bytes())
    assert index["documents"] == 3


def test_file_name_of_any_bytes_ends_in_words(tmp_path: Path, start: Start) -> None:
    """It was a TypeError while the state was written, and the trainer "vanished"."""
    run = make_tiny_run(tmp_path / "run")
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9\x1b[31m.jsonl")).write_bytes(b"no json")
    edit(run, str(tmp_path / "run-small.jsonl"), f"{folder}/*.jsonl")
    assert wait_for_end(start(run)) == Exit.USAGE
    assert "caf\\xe9\\x1b[31m.jsonl, line 1: not a JSON value" in state_of(run).reason
    assert b"Traceback" not in run.log.read_bytes()
    assert b"\x1b" not in run.log.read_bytes()
