"""What a pivot changes in `run.toml`: read from a policy file, merged by name, shown as a diff.

A policy file holds only what is to be another:

    note = "the docstrings repeat themselves"
    remove = ["repo-docstrings"]
    [policy.stdlib-code]
    cap = 0.4
    [sources.letters]
    path = "letters/*.txt"
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

import tomlkit
from tomlkit.items import Table

from trainer.rundir.config.run_toml import convert, flat_settings, parse_settings, parse_toml
from trainer.rundir.config.settings import Settings, SourceSettings
from trainer.rundir.environment import recorded_environment
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import is_utf_8, shown
from trainer.rundir.outcomes import SettingsError, SourceError
from trainer.rundir.reading import read_file
from trainer.rundir.sources.documents import anchored_path, look_at_files, naming
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.prepared import holds_prepared_text, read_index, token_folder
from trainer.rundir.state import read_state

_KEYS = ("note", "remove", "policy", "sources")
CHANGED_BY_PIVOT = ("sources.", "policy.")
"""What a pivot may change, by the beginning of the settings' names."""
FIXED_BY_WEIGHTS = {
    "model": "is part of the weights' shape",
    "tokenizer": "tells what the token ids mean that the weights have learned",
    "data": "is how the tokens were made that the history was trained on",
    "test": "is what the tokens were kept apart from that the history was trained on",
    "preset": "is part of the weights' shape",
    "rules": "are those that the weights were trained by",
}
"""What no fork can have otherwise than its parent, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """New bounds of an arm; None leaves one as it is."""

    floor: float | None = None
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """What is to be another: bounds by source, sources to add, sources to remove, and why."""

    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    added: Mapping[str, SourceSettings] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    note: str = ""


def load_policy_file(path: Path) -> PolicyChange:
    """Read a policy file; relative paths of sources are taken from the file's folder.

    Raises `SettingsError` that names the file and the key.
    """
    try:
        text = read_file(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: can't be read: {error}") from error
    try:
        change = _parse(parse_toml(text))
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    added = {name: anchored(source, path.parent) for name, source in change.added.items()}
    return replace(change, added=added)


def anchored(source: SourceSettings, folder: Path) -> SourceSettings:
    """The source with a path that means the same from everywhere."""
    path = anchored_path(source.path, folder)
    if not is_utf_8(path):
        raise SettingsError(f"{shown(path)}: is no UTF-8, as run.toml has to be; rename it")
    return replace(source, path=path)


def apply_change(text: str, change: PolicyChange) -> str:
    """The text of `run.toml` with the change merged in by name; comments and order stay.

    A source that is there already may have another path: `check_sources` reads whether it is the
    same text. Raises `SettingsError` that names the key: an unknown source (with the nearest
    name), floor over cap, all caps 0, no source left.
    """
    before = parse_settings(text)
    _check_names(before, change)
    document = tomlkit.parse(text)
    sources, policy = _table(document, "sources"), _table(document, "policy")
    if not sources:  # silent in the text: the preset's default sources
        for name, source in before.sources.items():
            sources[name] = _source_table(source)
    for name in change.removed:
        sources.pop(name)
        policy.pop(name, None)
    for name, source in change.added.items():
        if source != before.sources.get(name):
            sources[name] = _source_table(source)
    for name, bounds in change.bounds.items():
        _set_bounds(_table(policy, name), bounds)
    after = tomlkit.dumps(document)
    parse_settings(after)
    return after


def check_sources(
    run: RunDirectory, old: Settings, new: Settings, check: Callable[[], None] = never
) -> None:
    """Raise `SettingsError` where neither text nor tokens of a source are there.

    Cheap, but where a source that was there has another path now: its text is read, for it must
    be the same. `check` is called then and may raise to give up.
    """
    for name, source in new.sources.items():
        was = old.sources.get(name)
        with naming(name):
            if was is not None and was != source:
                known = recorded_environment(run, read_state(run.state)).texts.get(name, "")
                if not holds_prepared_text(run, new, name, text=known, check=check):
                    raise SourceError(
                        f"{source.path}: is not the text of {was.path}, which is there already;"
                        " remove that and add the text under another name, for rows given are"
                        " counted by name"
                    )
            elif read_index(token_folder(run.tokens, name)) is None:
                look_at_files(source, run.path, check)


def require_policy_only(old: Settings, new: Settings) -> None:
    """Raise `SettingsError` where anything but sources and policy differs."""
    before, after = flat_settings(old), flat_settings(new)
    others = [
        name
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name) and not name.startswith(CHANGED_BY_PIVOT)
    ]
    if others:
        raise SettingsError(
            f"{', '.join(others)}: a pivot changes sources and policy only; for other settings"
            " make a fork, or edit run.toml while the run is stopped"
        )


def diff_texts(old: str, new: str) -> tuple[str, ...]:
    """The lines of a unified diff of `run.toml`; none if the texts are equal."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "run.toml", "run.toml, new", lineterm=""
    )
    return tuple(lines)


def _parse(written: Mapping[str, Any]) -> PolicyChange:
    for key in written:
        if key not in _KEYS:
            raise SettingsError(f"{key}: {_unknown('key', key, _KEYS)}")
    removed = written.get("remove", [])
    if not isinstance(removed, list) or not all(isinstance(name, str) for name in removed):
        raise SettingsError('remove: write it as a list of names: remove = ["NAME"]')
    note = written.get("note", "")
    if not isinstance(note, str):
        raise SettingsError(f"note: {note!r} is not a string")
    return PolicyChange(
        bounds={name: _bounds(name, table) for name, table in _tables(written, "policy")},
        added={name: _source(name, table) for name, table in _tables(written, "sources")},
        removed=tuple(removed),
        note=note,
    )


def _tables(written: Mapping[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    tables = written.get(section, {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise SettingsError(f"{section}: write it as tables: [{section}.NAME]")
    return list(tables.items())


def _bounds(name: str, table: Mapping[str, Any]) -> Bounds:
    where = f"policy.{name}"
    _check_keys(table, ("floor", "cap"), where)
    return Bounds(**{key: convert(float, v, f"{where}.{key}") for key, v in table.items()})


def _source(name: str, table: Mapping[str, Any]) -> SourceSettings:
    where = f"sources.{name}"
    kinds = get_type_hints(SourceSettings)
    _check_keys(table, tuple(kinds), where)
    given = {key: convert(kinds[key], value, f"{where}.{key}") for key, value in table.items()}
    if "path" not in given:
        raise SettingsError(f"{where}.path: is missing")
    try:
        return SourceSettings(**given)
    except SettingsError as error:
        raise SettingsError(str(error).replace("sources.*", where)) from error


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise SettingsError(f"{where}.{key}: {_unknown('key', key, known)}")


def _check_names(before: Settings, change: PolicyChange) -> None:
    known = tuple(before.sources)
    for name in change.removed:
        if name not in known:
            raise SettingsError(f"remove: {name}: {_unknown('source', name, known)}")
        if name in change.added or name in change.bounds:
            raise SettingsError(f"remove: {name}: is given a source or bounds, too; choose one")
    after = tuple(name for name in (*known, *change.added) if name not in change.removed)
    if not after:
        raise SettingsError("remove: no source is left to train on; keep or add one")
    for name in change.bounds:
        if name not in after:
            raise SettingsError(f"policy.{name}: {_unknown('source', name, after)}")


def _unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}"
    return f"no such {what}; {hint}"


def _table(parent: Any, name: str) -> Any:
    if name not in parent:
        is_super = name in ("sources", "policy")
        parent[name] = tomlkit.table(is_super_table=is_super)
    return parent[name]


def _source_table(source: SourceSettings) -> Table:
    table = tomlkit.table()
    default = SourceSettings(path=source.path)
    for key, value in asdict(source).items():
        if key == "path" or value != getattr(default, key):
            table[key] = value
    table.add(tomlkit.nl())
    return table


def _set_bounds(table: Any, bounds: Bounds) -> None:
    for key in ("floor", "cap"):
        value = getattr(bounds, key)
        if value is not None:
            table[key] = value
