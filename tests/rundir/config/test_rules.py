"""The number of a run's rules: given when it is made, kept, and refused where it is unknown."""

import pytest

from trainer.rundir.config.policy_change import (
    Bounds,
    PolicyChange,
    apply_change,
    require_policy_only,
)
from trainer.rundir.config.rules import NEWEST_RULES, RULES
from trainer.rundir.config.run_toml import parse_settings, render_new_run
from trainer.rundir.config.settings import ArmPolicy, SourceSettings
from trainer.rundir.fork import set_settings
from trainer.rundir.outcomes import SettingsError

SOURCES = {"a": SourceSettings(path="a.txt")}


def test_a_new_run_has_the_newest_rules_and_says_so() -> None:
    text = render_new_run("demo", SOURCES)
    assert f"\nrules = {NEWEST_RULES}  # " in text
    assert parse_settings(text).rules == NEWEST_RULES


def test_a_file_that_is_older_than_the_numbers_has_rules_1() -> None:
    assert parse_settings('preset = "demo"').rules == 1


def test_rules_of_a_newer_version_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=rf"^rules: {NEWEST_RULES + 1} .*newer andrea.* 1 to"):
        parse_settings(f"rules = {NEWEST_RULES + 1}")


@pytest.mark.parametrize("number", [0, -1])
def test_rules_that_never_were_are_refused(number: int) -> None:
    with pytest.raises(SettingsError, match=f"^rules: {number} is none of 1 to"):
        parse_settings(f"rules = {number}\n[policy.stdlib-docs]\nfloor = 0.1")


def test_numbers_have_no_gap() -> None:
    assert list(RULES) == list(range(1, NEWEST_RULES + 1))


@pytest.mark.parametrize("number", RULES)
def test_bounds_that_are_not_given_go_by_the_rules(number: int) -> None:
    text = f'rules = {number}\n[sources.a]\npath = "a"\n[sources.b]\npath = "b"\n'
    settings = parse_settings(text + "[policy.a]\nfloor = 0.5\n")
    cap = RULES[number].default_cap
    assert settings.bounds_of("a") == ArmPolicy(floor=0.5, cap=cap)
    assert settings.bounds_of("b") == ArmPolicy(floor=0.0, cap=cap)


def test_floor_under_the_default_cap_of_the_rules_can_be_given_by_a_pivot() -> None:
    change = PolicyChange(bounds={"a": Bounds(floor=3.0)})
    text = apply_change('rules = 2\n[sources.a]\npath = "a"\n', change)
    assert parse_settings(text).bounds_of("a") == ArmPolicy(floor=3.0, cap=8.0)


def test_a_pivot_changes_no_rules() -> None:
    old, new = (parse_settings(f"rules = {number}") for number in (1, 2))
    with pytest.raises(SettingsError, match=r"^rules: a pivot changes sources and policy only"):
        require_policy_only(old, new)


def test_a_fork_keeps_the_rules_of_its_parent() -> None:
    for text in (render_new_run("demo", SOURCES), 'preset = "demo"\n'):
        forked = set_settings(text, {"optimizer.lr": "2e-4"})
        assert parse_settings(forked).rules == parse_settings(text).rules
    with pytest.raises(SettingsError, match=r"^rules: .* keeps its parent's"):
        set_settings(text, {"rules": "2"})
