"""What is read of a run's sources from its directory, and how seldom."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from console.follow.follower import Follower
from console.operations.operations import Operations
from console.verbs.waiting import look_at_all
from console.view.sources import arms_at, sources_at
from tests.tiny import make_tiny_run, train_here
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.sources.documents import SourceFiles
from trainer.rundir.sources.prepared import TokenIndex, token_folder, write_index
from trainer.rundir.state import ArmState, State, Zombie, read_state, write_state

INDEX = TokenIndex(
    stamp="",
    tokenizer="",
    dtype="<u2",
    fingerprint="0" * 64,
    documents=1,
    held_out_documents=0,
    train_tokens=1_281,
    held_out_tokens=0,
)


def prepare(run: RunDirectory, name: str, tokens: int = INDEX.train_tokens) -> None:
    """Tokens of a source as the trainer leaves them."""
    folder, index = token_folder(run.tokens, name), replace(INDEX, train_tokens=tokens)
    folder.mkdir(parents=True, exist_ok=True)
    for file, count in zip(index.file_names, (tokens, 0), strict=True):
        (folder / file).touch()
        os.truncate(folder / file, 2 * count)
    write_index(folder, index, SourceFiles(stamp="now"))


def follow(run: RunDirectory) -> Follower:
    follower = Follower(run)
    look_at_all(follower)
    return follower


def test_real_run_has_the_sizes_of_its_tokens_and_the_bandit_of_its_state(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=24, sources={"one": 40, "two": 80})
    train_here(run)
    facts, state = follow(run).sources, read_state(run.state)
    assert state is not None
    for arm in arms_at(facts, 24):
        now, told = arm.state, state.arms[arm.name]
        assert (now.pulls, now.floor, now.cap) == (told.pulls, told.floor, told.cap)
        assert now.weight == pytest.approx(told.weight, rel=1e-6)
        assert now.probability == pytest.approx(told.probability, rel=1e-6)
    rows = sources_at(facts, None)
    assert {row.name for row in rows} == {"one", "two"}
    for row in rows:
        assert row.tokens == facts.sizes[row.name].train_tokens
        assert row.given_tokens == state.arms[row.name].tokens
        assert row.rows is not None
        assert row.loss == pytest.approx(state.arms[row.name].ema_loss, rel=1e-6)
        assert row.val_loss is not None


def test_a_look_without_news_gives_the_same_facts(run: RunDirectory) -> None:
    prepare(run, "stdlib-docs")
    RecordArray(run.loss).append({"step": 1, "arm": "stdlib-docs", "loss": 3.0, "tokens": 1024})
    follower = follow(run)
    facts = follower.sources
    follower.look()
    assert follower.sources is facts


def test_tokens_that_come_while_it_is_looked_at_are_noticed(run: RunDirectory) -> None:
    RecordArray(run.loss).append({"step": 1, "arm": "stdlib-docs", "loss": 3.0, "tokens": 1024})
    follower = follow(run)
    assert sources_at(follower.sources, None)[0].tokens is None
    prepare(run, "stdlib-docs")
    follower.look()
    assert sources_at(follower.sources, None)[0].tokens == 1_281
    prepare(run, "stdlib-docs", tokens=2_561)
    follower.look()
    assert sources_at(follower.sources, None)[0].tokens == 2_561


def test_tokens_that_are_torn_or_no_folder_of_a_source_are_unknown(run: RunDirectory) -> None:
    prepare(run, "stdlib-docs")
    os.truncate(token_folder(run.tokens, "stdlib-docs") / INDEX.file_names[0], 7)
    (run.tokens / "a file").write_text("no folder")
    assert follow(run).sources.sizes == {}


def test_settings_of_an_earlier_phase_are_those_of_its_archive(run: RunDirectory) -> None:
    archive = run.phase_archive(1)
    archive.mkdir(parents=True)
    text = run.settings.read_text()
    (archive / "run.toml").write_text(text)
    run.settings.write_text(text.replace("cap = 8.0", "cap = 2.0"))
    facts = follow(run).sources
    caps = {phase: made.bounds_of("stdlib-docs").cap for phase, made in facts.settings.items()}
    assert caps == {1: 8.0, 2: 2.0}
    (archive / "run.toml").write_text("no toml")
    assert set(follow(run).sources.settings) == {2}


def test_pivot_that_is_rolled_back_leaves_no_phase_behind(run: RunDirectory) -> None:
    run.phase_archive(1).mkdir(parents=True)
    follower = follow(run)
    assert set(follower.sources.settings) == {2}
    run.phase_archive(1).rmdir()
    follower.look()
    assert set(follower.sources.settings) == {1}


def test_arms_that_the_state_calls_dead_are_gone(run: RunDirectory) -> None:
    arms = {"stdlib-docs": ArmState(available=False), "stdlib-code": ArmState()}
    write_state(run.state, State(arms=arms, zombies=(Zombie(arm="old"),)))
    assert follow(run).sources.gone == {"stdlib-docs", "old"}


def test_of_a_foreign_trainer_no_weight_is_worked_out(run: RunDirectory) -> None:
    RecordArray(run.loss).append({"step": 1, "arm": "x", "loss": 3.0, "tokens": 1024})
    follower = Follower(run, Operations(run, command=["engine"], read_only=True))
    look_at_all(follower)
    facts = follower.sources
    assert not facts.has_own_bandit
    assert load_settings(run.settings).sources  # those of the file, which it may not heed
    assert all(arm.state.weight is None for arm in arms_at(facts, 1))
    (drawn, *_) = sources_at(facts, None)
    assert (drawn.name, drawn.share, drawn.given_tokens, drawn.given_rows) == ("x", 1.0, 1024, None)


def test_a_source_seen_over_and_over_is_a_warning_of_the_view(run: RunDirectory) -> None:
    prepare(run, "web", 10_000_000)
    prepare(run, "docs")
    history = RecordArray(run.loss)
    for step, arm in ((1, "web"), (2, "docs")):
        history.append({"step": step, "arm": arm, "loss": 3.0, "tokens": 65_536})
    (warning,) = look_at_all(Follower(run)).warnings
    assert warning.startswith("seen more than 4 times: docs ")
    assert "web" not in warning
