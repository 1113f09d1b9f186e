"""What changed since the last start: told where it is harmless, refused where it alters the run."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import orjson

from trainer.rundir.config.policy_change import CHANGED_BY_PIVOT, FIXED_BY_WEIGHTS
from trainer.rundir.config.run_toml import default_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.state import State, read_state

_DIGEST_DIGITS = 12

_ALTERING = (
    "rules",
    "seed",
    "model.",
    "tokenizer.",
    "data.",
    "optimizer.",
    "sources.",
    "policy.",
    "test.",
    "train.total_steps",
    "train.batch_tokens",
    "train.micro_batch",
    "train.shares",
    "train.precision",
    "train.deterministic",
)
"""Settings that every later step depends on, by the beginning of their names."""

_OF_PREPARATION = ("sources.", "test."), ".max_odd_share"
"""Asked only while text is prepared: what was prepared stays as it is."""

_MEANS = {
    "audit.held_out_rows": "; val_loss is of other rows from here on: another series",
}
"""What a harmless change means where that isn't plain."""


def state_left_behind(run: RunDirectory) -> State | None:
    """What the last start left; in a new phase what the pivot archived, but without its arms."""
    state = read_state(run.state)
    phases = run.archived_phases()
    if state is not None or not phases:
        return state
    archived = read_state(phases[-1][1] / run.state.name)
    return None if archived is None else replace(archived, arms={}, zombies=())


def is_of_phase_before(run: RunDirectory, state: State) -> bool:
    """Whether the state's settings are those of the phase that a pivot ended.

    They stay in the state until training begins, and so does a start that was given up leave them.
    """
    phases = run.archived_phases()
    if state.phase != run.current_phase():
        return True
    archived = read_state(phases[-1][1] / run.state.name) if phases else None
    return archived is not None and archived.settings == state.settings


def compare_settings(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    is_pivoted: bool = False,
    is_same_text: Callable[[str], bool] = lambda _: False,
) -> list[str]:
    """Each difference in words, where none alters the run; else `SettingsError` with all of them.

    `before` is empty for a new run: nothing to compare. `is_pivoted`: it is of the phase before,
    so what a pivot may change is no surprise. What one of them doesn't have is at its default:
    an earlier version didn't know it, or the file doesn't say it. `is_same_text` is asked, by
    name, for a source that has another path: under another one the same text is the same source.
    """
    if not before:
        return []
    changes = _differences(_told(before, now), _told(now, before))
    if is_pivoted:
        changes = [(name, text) for name, text in changes if not name.startswith(CHANGED_BY_PIVOT)]
    told: list[str] = []
    altering: dict[str, str] = {}
    for name, text in changes:
        source = _whose_path(name)
        if source and name in before and name in now and is_same_text(source):
            told.append(f"the same text under another path: {text}")
        elif _alters(name):
            altering[name] = text
        else:
            told.append(f"setting changed: {text}{_MEANS.get(name, '')}")
    if altering:
        raise SettingsError(
            "run.toml was changed since the last start in what alters the run: "
            + "; ".join(altering.values())
            + f". Put it back{_way_to(altering)}"
        )
    return told


def _way_to(names: Collection[str]) -> str:
    """How to have settings of these names otherwise, as far as there is a way."""
    if all(name.startswith(CHANGED_BY_PIVOT) for name in names):
        return ", or change it by a pivot"
    if any(name.startswith(tuple(FIXED_BY_WEIGHTS)) for name in names):
        return ", or make a new run: the weights were made by it"
    return ", or try it in a fork (andrea-console fork --set)"


def digests_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """A digest of each section that alters the run, by section; one all at its defaults has none.

    So a setting that a later version adds changes none. Of sources only the names count: what
    text a path leads to is known by its fingerprint.
    """
    rules = settings.get("rules", 1)
    sections: dict[str, list[tuple[str, Any]]] = {}
    for name, value in sorted(settings.items()):
        is_text = name.startswith("sources.")
        if _alters(name) and (is_text or value != default_of(name, rules)):
            told = (name, None if is_text else value)
            sections.setdefault(name.partition(".")[0], []).append(told)
    return {
        section: hashlib.sha256(orjson.dumps(told)).hexdigest()[:_DIGEST_DIGITS]
        for section, told in sections.items()
    }


def compare_digests(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise `SettingsError` where settings that alter the run differ; for a lost `.state.json`.

    `before` is empty where no audit tells: nothing to compare.
    """
    if not before:
        return
    sections = sorted({name for name, _ in _differences(before, now)})
    if sections:
        raise SettingsError(
            f"run.toml was changed in {', '.join(sections)} since the newest audit, in what alters"
            " the run (what exactly, a lost .state.json would tell). Put it back"
            + _way_to([f"{section}." for section in sections])
        )


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


def _alters(name: str) -> bool:
    beginning, end = _OF_PREPARATION
    is_of_preparation = name.startswith(beginning) and name.endswith(end)
    return name.startswith(_ALTERING) and not is_of_preparation


def _told(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the default of each that only the others have."""
    rules = settings.get("rules", 1)
    rules = rules if isinstance(rules, int) else 1  # of a state that somebody edited
    return {name: default_of(name, rules) for name in others} | dict(settings)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = dict.fromkeys((*now, *before))
    return [
        (name, f"{name}: {_shown(before.get(name))} → {_shown(now.get(name))}")
        for name in names
        if before.get(name) != now.get(name)
    ]


def _whose_path(name: str) -> str:
    """The source whose path the setting is; empty: it is another setting."""
    middle = name.removeprefix("sources.").removesuffix(".path")
    return middle if name == f"sources.{middle}.path" else ""


def _shown(value: Any) -> str:
    return "absent" if value is None else str(value)
