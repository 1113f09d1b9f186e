"""`run.toml` and the settings: reading with errors that help, writing a new run's file."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import orjson

from trainer.rundir.config.presets import DEFAULT_SOURCES, PRESETS
from trainer.rundir.config.rules import NEWEST_RULES, RULES
from trainer.rundir.config.settings import (
    LEARNED_TOKENIZER,
    ArmPolicy,
    Settings,
    SourceSettings,
    TokenizerSettings,
)
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted, shown
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.reading import read_file

T = TypeVar("T")

_SECTIONS = (
    *("model", "tokenizer", "data", "train", "optimizer", "checkpoint", "audit", "trainer"),
)

_BOM = "\ufeff"

LOST_SETTINGS = (
    "is missing from a run that was trained; bring it back from a backup (.state.json and archive/"
    " hold the settings too)"
)
"""Said of a run.toml."""


def load_settings(path: Path) -> Settings:
    """Read and validate `run.toml`; `SettingsError` names file, setting and mend."""
    return load_text(path)[1]


def load_text(path: Path) -> tuple[str, Settings]:
    """The text of `run.toml` and what it says; raises as `load_settings`."""
    try:
        text = read_file(path).decode()
    except FileNotFoundError:
        new = f"not there; `andrea-console {quoted(path.parent)}` makes a new run"
        is_trained = RunDirectory(path.parent).loss.exists()
        msg = f"{shown(path)}: {LOST_SETTINGS if is_trained else new}"
        raise SettingsError(msg) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: can't be read: {error}") from error
    try:
        return text, parse_settings(text)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML document says; raises `SettingsError`."""
    if text.startswith(_BOM):
        raise SettingsError("begins with a byte order mark; save it as UTF-8 without one")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"not valid TOML: {error}") from error


def parse_settings(text: str) -> Settings:
    """Settings from the text of a `run.toml`; raises `SettingsError`."""
    written = parse_toml(text)
    _check_keys(written, [item.name for item in fields(Settings)], "")
    preset = written.get("preset", "demo")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise SettingsError(f"preset: {preset!r} is none of {', '.join(PRESETS)}")
    values: dict[str, Any] = {"preset": preset}
    for name in ("rules", "seed"):
        if name in written:
            values[name] = convert(int, written[name], name)
    hints = get_type_hints(Settings)
    for section in _SECTIONS:
        table = _table(written, section)
        merged = {**PRESETS[preset].get(section, {}), **table}
        values[section] = _build(hints[section], merged, section)
    values["sources"] = _sources(written)
    values["test"] = _source_tables(written, "test")
    values["policy"] = _policies(written, values["sources"], values.get("rules", 1))
    return Settings(**values)


def _sources(written: Mapping[str, Any]) -> dict[str, SourceSettings]:
    return _source_tables(written, "sources") or {
        name: SourceSettings(path=path) for name, path in DEFAULT_SOURCES.items()
    }


def _source_tables(written: Mapping[str, Any], section: str) -> dict[str, SourceSettings]:
    tables = _table(written, section)
    if "" in tables:
        what = "source" if section == "sources" else "test set"
        raise SettingsError(f'{section}."": a {what} needs a name')
    return {
        name: _build(SourceSettings, _table(tables, name, f"{section}."), f"{section}.{name}")
        for name in tables
    }


def _policies(
    written: Mapping[str, Any], sources: Mapping[str, SourceSettings], rules: int
) -> dict[str, ArmPolicy]:
    tables = _table(written, "policy")
    _check_keys(tables, list(sources), "policy.", what="source")
    default = {"cap": RULES[rules].default_cap} if rules in RULES else {}
    return {
        name: _build(ArmPolicy, {**default, **_table(tables, name, "policy.")}, f"policy.{name}")
        for name in tables
    }


def _table(written: Mapping[str, Any], name: str, prefix: str = "") -> dict[str, Any]:
    table = written.get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{prefix}{name}: write it as a table: [{prefix}{name}]")
    return table


def _check_keys(table: Iterable[str], known: list[str], prefix: str, what: str = "setting") -> None:
    for key in table:
        if key in known:
            continue
        nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"did you mean {prefix}{nearest[0]}?" if nearest else f"known: {', '.join(known)}"
        raise SettingsError(f"{prefix}{key}: no such {what}; {hint}")


def _build(kind: type[T], table: Mapping[str, Any], section: str) -> T:
    known = fields(kind)  # type: ignore[arg-type]
    _check_keys(table, [item.name for item in known], f"{section}.")
    for item in known:
        if item.name not in table and item.default is MISSING:
            raise SettingsError(f"{section}.{item.name}: is missing")
    hints = get_type_hints(kind)
    values = {key: convert(hints[key], value, f"{section}.{key}") for key, value in table.items()}
    try:
        return kind(**values)
    except SettingsError as error:
        generic = section.partition(".")[0]
        told = str(error).replace("sources.*" if generic == "test" else f"{generic}.*", section)
        raise SettingsError(told) from error


def convert(hint: Any, value: Any, setting: str) -> Any:
    """A value of TOML as what the setting is; raises `SettingsError` that names it."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise SettingsError(f"{setting}: more than 64 bits")
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if get_origin(hint) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise SettingsError(f"{setting}: {value!r} is not a list of strings")
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    words = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
    raise SettingsError(f"{setting}: {value!r} is not {words[hint]}")


def flat_settings(settings: Settings) -> dict[str, Any]:
    """Every setting by its dotted name, for comparing two starts: `train.batch_tokens`."""
    return dict(_flatten(asdict(settings), ""))


def default_of(name: str, rules: int) -> Any:
    """What a setting is that nobody gave, by its dotted name; None: it has no default.

    So it was before it had a name: a default never changes, or runs that exist would.
    """
    section, _, rest = name.partition(".")
    if section in ("sources", "policy", "test"):
        name = f"{section}.*.{rest.rpartition('.')[2]}"
    if name == "policy.*.cap" and rules in RULES:
        return RULES[rules].default_cap
    return _DEFAULTS.get(name)


def _flatten(tree: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", list(value) if isinstance(value, tuple) else value


def _defaults() -> dict[str, Any]:
    hints = get_type_hints(Settings)
    sections = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    kinds = {"": Settings, **sections, "policy.*": ArmPolicy}
    kinds |= dict.fromkeys(("sources.*", "test.*"), SourceSettings)
    found = {
        f"{section}.{item.name}".lstrip("."): item.default
        for section, kind in kinds.items()
        for item in fields(kind)
        if item.default is not MISSING and not is_dataclass(item.default)
    }
    return {name: list(v) if isinstance(v, tuple) else v for name, v in found.items()}


_DEFAULTS = _defaults()

_COMMENTS = {
    "rules": "of arithmetic and data: the newest when the run was made, and kept for ever",
    "tokenizer.path": "a tokenizer.json of one's own; empty: learned from the sources' text",
    "tokenizer.separator": "its special token that ends a document",
    "data.drop_duplicates": "true: of documents with the same text a source gives only the first",
    "train.batch_tokens": "tokens a step",
    "train.micro_batch": "rows a forward pass",
    "train.shares": "parts of a step that ranks divide; 0: its micro-batches",
    "train.ranks": "processes that train together, a GPU each; 0: one for each GPU",
    "train.rank_timeout_seconds": "all end where one of them is not heard of for so long",
    "train.stop_within_seconds": "what a stop may take; 0: no limit",
    "train.end_at": "when to stop by itself, as 2026-12-05 18:00",
    "train.device": "auto | cpu | cuda | cuda:N",
    "train.precision": "auto | fp32 | bf16 | fp16 ; weights, m and v are float32 always",
    "train.compile": "torch.compile, on CUDA",
    "train.deterministic": "false: faster on CUDA, but a resume is not bit-exact",
    "checkpoint.every": "checkpoints and sample audits, one to one",
    "checkpoint.keep_last": "0: keep all. Else: the last N and every keep_every-th",
    "audit.tokens": "of each sample",
    "audit.prompts": "further samples, one a prompt; score and gate go by the one without",
    "audit.threshold": "coherence score from 0 to 100",
    "audit.patience": "audits in a row under the threshold that halt the run; 0: never",
    "audit.held_out_rows": "of each source for val_loss; of others it is another series",
    "data.held_out_tokens": "of a source at most; else 1 % of it",
    "trainer.restart": "true: an open console starts it again after a crash, with pauses",
}


def render_new_run(
    preset: str,
    sources: Mapping[str, SourceSettings],
    command: tuple[str, ...] = (),
    *,
    tokenizer: TokenizerSettings = LEARNED_TOKENIZER,
    vocab_size: int | None = None,
    tests: Mapping[str, SourceSettings] | None = None,
) -> str:
    """The text of a new run's `run.toml`: every setting in sight, parsed back once as a check.

    `vocab_size`: of one's own `tokenizer`; else the preset's.
    """
    named = {name: _source_table(source) for name, source in sources.items()}
    tested = {name: _source_table(source) for name, source in (tests or {}).items()}
    start = f"preset = {_toml(preset)}\nrules = {NEWEST_RULES}\n"
    start += "" if vocab_size is None else f"[model]\nvocab_size = {vocab_size}\n"
    start += _render("tokenizer", asdict(tokenizer))
    start += "".join(_render(f"sources.{n}", t) for n, t in named.items())
    start += "".join(_render(f"test.{n}", t) for n, t in tested.items())
    new = parse_settings(start)
    settings = asdict(new)
    parts = [
        "# The settings of this run. Written when it was made; changed by a pivot only.\n",
        "".join(_line(name, settings[name]) for name in ("preset", "rules", "seed")),
    ]
    parts += [_render(section, settings[section]) for section in _SECTIONS if section != "trainer"]
    trainer: dict[str, Any] = {"command": list(command)} if command else {}
    parts.append(_render("trainer", {**trainer, "restart": settings["trainer"]["restart"]}))
    parts += [_render(f"sources.{name}", table) for name, table in named.items()]
    parts += [_render(f"policy.{name}", asdict(new.default_bounds)) for name in named]
    parts += [_render(f"test.{name}", table) for name, table in tested.items()]
    text = "\n".join(parts)
    parse_settings(text)
    return text


def _source_table(source: SourceSettings) -> dict[str, Any]:
    default = asdict(SourceSettings(path=source.path))
    given = {name: value for name, value in asdict(source).items() if value != default[name]}
    return {"path": source.path, **given}


def _render(section: str, table: Mapping[str, Any]) -> str:
    head, _, name = section.partition(".")
    title = f"{head}.{_toml_key(name)}" if name else head
    return f"[{title}]\n" + "".join(_line(k, v, f"{section}.") for k, v in table.items())


def _line(key: str, value: Any, prefix: str = "") -> str:
    comment = _COMMENTS.get(f"{prefix}{key}")
    return f"{key} = {_toml(value)}" + (f"  # {comment}\n" if comment else "\n")


def _toml_key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _toml(name)


def _toml(value: Any) -> str:
    """A TOML value: JSON's strings (but for DEL), lists, booleans and numbers are TOML's too."""
    if isinstance(value, float):
        return repr(value)
    try:
        return orjson.dumps(value).decode().replace("\x7f", "\\u007f")
    except TypeError:
        raise SettingsError(f"{value!r}: run.toml can't hold it: not valid UTF-8") from None
