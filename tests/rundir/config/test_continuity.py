"""What another start may change, and what it must be told of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny import ask_stop, make_tiny_run, train_here
from trainer.rundir.config.continuity import compare_environment, compare_settings
from trainer.rundir.config.run_toml import flat_settings, parse_settings
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.state import State, read_state

HARMLESS = {
    "checkpoint.every",
    "checkpoint.keep_last",
    "checkpoint.keep_every",
    "audit.tokens",
    "audit.prompts",
    "audit.threshold",
    "audit.patience",
    "audit.held_out_rows",
    "preset",
    "train.device",
    "train.ranks",
    "train.rank_timeout_seconds",
    "train.stop_within_seconds",
    "train.end_at",
    "train.compile",
    "trainer.command",
    "trainer.restart",
}
"""Settings that no weight depends on but through the kernels that they choose."""


def settings() -> dict[str, Any]:
    return flat_settings(parse_settings("[policy.stdlib-docs]\nfloor = 0.1\n"))


@pytest.mark.parametrize("name", sorted(settings()))
def test_each_setting_that_differs_is_told_or_refused(name: str) -> None:
    before, now = settings(), settings()
    now[name] = "other"
    if name in HARMLESS or name.endswith(".max_odd_share"):
        (told,) = compare_settings(before, now)
        assert told.startswith(f"setting changed: {name}: {before[name]} → other")
        assert told.endswith("another series") == (name == "audit.held_out_rows")
    else:
        with pytest.raises(SettingsError, match=name):
            compare_settings(before, now)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("policy.stdlib-docs.floor", "by a pivot"),
        ("optimizer.lr", "in a fork"),
        ("train.total_steps", "in a fork"),
        ("model.layers", "a new run"),
        ("rules", "a new run"),
    ],
)
def test_the_way_to_another_setting_is_one_that_takes_it(name: str, way: str) -> None:
    before, now = settings(), settings()
    assert name in now
    now[name] = "other"
    with pytest.raises(SettingsError, match=f"Put it back, or .*{way}"):
        compare_settings(before, now)


def test_source_that_comes_or_goes_is_refused_and_named() -> None:
    more = {**settings(), "sources.books.path": "books/*.txt"}
    for before, now in ((settings(), more), (more, settings())):
        with pytest.raises(SettingsError, match=r"sources\.books\.path: .*absent"):
            compare_settings(before, now)


def test_nothing_is_compared_at_the_first_start() -> None:
    assert compare_settings({}, settings()) == []
    assert compare_environment({}, {"torch": "2"}) == []


def environment_of(state: State) -> dict[str, Any]:
    return dict(state.environment)


def other_torch(patch: pytest.MonkeyPatch, sources: Path) -> None:
    patch.setattr(torch, "__version__", "1.0")


def other_threads(patch: pytest.MonkeyPatch, sources: Path) -> None:
    patch.setattr(torch, "get_num_threads", lambda: 99)


def other_cpu(patch: pytest.MonkeyPatch, sources: Path) -> None:
    patch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "ABACUS")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (other_torch, "torch"),
        (other_threads, "threads"),
        (other_cpu, "cpu"),
    ],
)
def test_what_may_change_the_last_bits_is_told_at_the_next_start(
    change: Callable[[pytest.MonkeyPatch, Path], None], name: str, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "run")
    train_here(run, {5: ask_stop})
    with pytest.MonkeyPatch.context() as patch:
        change(patch, tmp_path)
        assert train_here(run) is Exit.FINISHED
    notes = (read_state(run.state) or State()).notes
    assert [note for note in notes if note.startswith(f"{name}: ") and "bit for bit" in note]
    assert len(notes) == 1


@pytest.mark.parametrize(
    "name",
    [
        "rules",
        "optimizer.weight_decay",
        "train.compile",
        "trainer.command",
        "policy.stdlib-docs.cap",
    ],
)
def test_setting_that_one_start_does_not_know_is_at_its_default(name: str) -> None:
    older = {key: value for key, value in settings().items() if key != name}
    assert compare_settings(older, settings()) == []
    assert compare_settings(settings(), older) == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("rules", 2, "rules: 1 → 2"),
        ("optimizer.weight_decay", 0.0, r"optimizer\.weight_decay: 0\.1 → 0\.0"),
        ("policy.stdlib-code.cap", 8.0, r"policy\.stdlib-code\.cap: 1\.0 → 8\.0"),
        ("train.total_steps", 9, r"train\.total_steps: absent → 9"),
    ],
)
def test_setting_that_the_earlier_start_does_not_know_is_compared_with_its_default(
    name: str, value: float, told: str
) -> None:
    older = {key: value for key, value in settings().items() if key != name}
    with pytest.raises(SettingsError, match=told):
        compare_settings(older, {**settings(), name: value})


def test_default_of_a_policy_goes_by_the_rules_of_the_run() -> None:
    newer = {**settings(), "rules": 2}
    written = {**newer, "policy.stdlib-code.floor": 0.0, "policy.stdlib-code.cap": 8.0}
    assert compare_settings(newer, written) == []


def test_rules_that_are_no_number_are_a_difference_and_no_error() -> None:
    now = {**settings(), "policy.stdlib-code.cap": 8.0}
    with pytest.raises(SettingsError, match="rules"):
        compare_settings({**settings(), "rules": {"step": 1}}, now)
