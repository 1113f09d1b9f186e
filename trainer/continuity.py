"""What changed since the last start: told where it is harmless, refused where it alters the run."""

from collections.abc import Mapping
from typing import Any

from trainer.rundir.outcomes import SettingsError

_ALTERING = (
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


def compare_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each difference in words, where none alters the run; else `SettingsError` with all of them.

    `before` is empty for a new run or phase: nothing to compare.
    """
    if not before:
        return []
    changes = _differences(before, now)
    altering = [text for name, text in changes if name.startswith(_ALTERING)]
    if altering:
        raise SettingsError(
            "run.toml was changed since the last start in what alters the run: "
            + "; ".join(altering)
            + ". Put it back, or change it by a pivot or a fork"
        )
    return [f"setting changed: {text}" for _, text in changes]


def compare_environment(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Each difference that may make the steps from here on differ in their last bits."""
    if not before:
        return []
    return [
        f"{text}: the steps from here on need not repeat bit for bit"
        for _, text in _differences(before, now)
    ]


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = dict.fromkeys((*now, *before))
    return [
        (name, f"{name}: {_shown(before.get(name))} → {_shown(now.get(name))}")
        for name in names
        if before.get(name) != now.get(name)
    ]


def _shown(value: Any) -> str:
    return "absent" if value is None else str(value)
