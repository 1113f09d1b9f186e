"""What changed since the last start: told where it is harmless, refused where it alters the run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainer.rundir.config.policy_change import CHANGED_BY_PIVOT
from trainer.rundir.config.run_toml import default_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.state import State, read_state

_ALTERING = (
    "rules",
    "seed",
    "model.",
    "optimizer.",
    "sources.",
    "policy.",
    "train.total_steps",
    "train.batch_tokens",
    "train.micro_batch",
    "train.precision",
    "train.deterministic",
)
"""Settings that every later step depends on, by the beginning of their names."""


def state_left_behind(run: RunDirectory) -> State | None:
    """What the last start left; in a new phase what the pivot archived, but without its arms."""
    state = read_state(run.state)
    phases = run.archived_phases()
    if state is not None or not phases:
        return state
    archived = read_state(phases[-1][1] / run.state.name)
    return None if archived is None else replace(archived, arms={}, zombies=())


def compare_settings(
    before: Mapping[str, Any], now: Mapping[str, Any], *, is_pivoted: bool = False
) -> list[str]:
    """Each difference in words, where none alters the run; else `SettingsError` with all of them.

    `before` is empty for a new run: nothing to compare. `is_pivoted`: it is of the phase before,
    so what a pivot may change is no surprise. What one of them doesn't have is at its default:
    an earlier version didn't know it, or the file doesn't say it.
    """
    if not before:
        return []
    changes = _differences(_told(before, now), _told(now, before))
    if is_pivoted:
        changes = [(name, text) for name, text in changes if not name.startswith(CHANGED_BY_PIVOT)]
    altering = [text for name, text in changes if name.startswith(_ALTERING)]
    if altering:
        raise SettingsError(
            "run.toml was changed since the last start in what alters the run: "
            + "; ".join(altering)
            + ". Put it back, or change it by a pivot or a fork"
        )
    return [f"setting changed: {text}" for _, text in changes]


def compare_environment(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each difference that may make the steps from here on differ in their last bits.

    What only one of them has is no difference: a source that a pivot added, or removed.
    """
    both = before.keys() & now.keys()
    return [
        f"{text}: the steps from here on need not repeat bit for bit"
        for name, text in _differences(before, now)
        if name in both
    ]


def _told(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the default of each that only the others have."""
    rules = settings.get("rules", 1)
    return {name: default_of(name, rules) for name in others} | dict(settings)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = dict.fromkeys((*now, *before))
    return [
        (name, f"{name}: {_shown(before.get(name))} → {_shown(now.get(name))}")
        for name in names
        if before.get(name) != now.get(name)
    ]


def _shown(value: Any) -> str:
    return "absent" if value is None else str(value)
