"""Audit forks: a sibling run that stands on a checkpoint of its parent and goes on by itself.

A fork is made beside its final name and renamed when it is whole. No byte of the parent changes.
"""

import contextlib
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import tomlkit

from trainer.rundir.atomic import sync_directory, write_atomic
from trainer.rundir.checkpoints.checkpoint import Checkpoint, checkpoint_name
from trainer.rundir.checkpoints.cloning import clone_file, digest_of
from trainer.rundir.checkpoints.coverage import own_checkpoints
from trainer.rundir.checkpoints.pins import pin, read_pins
from trainer.rundir.config.policy_change import (
    FIXED_BY_WEIGHTS,
    PolicyChange,
    apply_change,
    check_sources,
)
from trainer.rundir.config.run_toml import load_text, parse_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import is_utf_8, shown
from trainer.rundir.outcomes import HistoryError, SettingsError, SourceError
from trainer.rundir.pivot.journal import HoldMode, refuse_if_half_done, request_pivot
from trainer.rundir.pivot.stages import archive, commit, hold, restart, retire
from trainer.rundir.reading import read_file
from trainer.rundir.records.record_file import Record, RecordArray, canonical, load_records
from trainer.rundir.sources.documents import anchored_path
from trainer.rundir.start_checks import look_ahead

_BY_POLICY = ("sources", "policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A checkpoint that a fork stands on, and whose it was: an entry of a lineage."""

    parent: str
    """Name of the parent's directory, a sibling of the fork's."""
    step: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Everything in `fork.json`."""

    parent: str
    step: int
    sha256: str
    """Of the checkpoint; the fork's was checked against the parent's."""
    bytes: int
    cloned_by: str
    """`reflink`, `hard link` or `copy`."""
    t: float
    """Wall clock, seconds."""
    settings: Mapping[str, Any]
    """What `--set` changed, each value as `run.toml` has it."""
    lineage: tuple[Base, ...]
    """This fork's base, then that of its parent if that is a fork, and so on."""
    tokens_bytes: int = 0
    tokens_cloned_by: str = ""
    """As `cloned_by`; empty: the parent had no tokens. No file of tokens is ever written in place,
    so neither run can harm the other's."""


def make_fork(
    run: RunDirectory,
    step: int,
    name: str,
    *,
    settings: Mapping[str, str],
    change: PolicyChange | None,
    t: float,
) -> RunDirectory:
    """Make the fork `name` beside `run` from its checkpoint of `step`; the parent may go on.

    It goes on as the parent did from there, in that phase, but for `settings` (dotted name →
    TOML value). A `change` of policy is a pivot at the base: a new phase with a fresh bandit.

    Raises:
        SettingsError: no such checkpoint, the name is taken, settings that don't fit the weights.
        HistoryError: the history doesn't reach the step, or the checkpoint isn't what was audited.
        OSError: a file can't be read or written; nothing half-made stays.
    """
    refuse_if_half_done(run)
    fork = _free_sibling(run, name)
    phase = _phase_after(run, step)
    if phase == run.current_phase():
        _require_own_settings(run)
    text = set_settings(_settings_text(run, phase), settings)
    base = _checkpoint(run, step, parse_settings(text))
    staging = RunDirectory(fork.path.with_name(f".{name}.partial"))
    if staging.path.exists():
        shutil.rmtree(staging.path)
    staging.path.mkdir()
    try:
        _fill(staging, run, base, phase, anchor_sources(text, run.path), settings, t)
        if change is not None:
            _pivot(staging, base, change, t)
        sync_directory(staging.path)
        staging.path.rename(fork.path)
    except BaseException:
        shutil.rmtree(staging.path, ignore_errors=True)
        raise
    sync_directory(fork.path.parent)
    return fork


def _require_own_settings(run: RunDirectory) -> None:
    """Raise `SettingsError` where the parent would not start with its own settings any more.

    The fork would take them over, and has no start before it to compare them with.
    """
    for refusal in look_ahead(run, reads_text=False).refusals:
        if isinstance(refusal, SettingsError) and not isinstance(refusal, SourceError):
            raise refusal


def set_settings(text: str, values: Mapping[str, str]) -> str:
    """`run.toml` with the named settings replaced; raises `SettingsError` for what can't fit."""
    document = tomlkit.parse(text)
    for name, value in values.items():
        section, _, key = name.partition(".")
        if section in FIXED_BY_WEIGHTS:
            raise SettingsError(f"{name}: {FIXED_BY_WEIGHTS[section]}; a fork keeps its parent's")
        if section in _BY_POLICY:
            raise SettingsError(f"{name}: sources and policy of a fork change by a policy file")
        if key and section not in document:
            document[section] = tomlkit.table()
        if key and not isinstance(document[section], Mapping):
            raise SettingsError(f"{name}: no such setting; {section} is a single value")
        table: Any = document[section] if key else document
        table[key or section] = _value(value)
    after = tomlkit.dumps(document)
    parse_settings(after)
    return after


def anchor_sources(text: str, base: Path) -> str:
    """`run.toml` with relative paths of sources, which a run takes from itself, made absolute.

    That of its tokenizer, too.
    """
    document = tomlkit.parse(text)
    sources: Any = document.get("sources", {})
    tokenizer: Any = document.get("tokenizer", {})
    if own := str(tokenizer.get("path", "")):
        tokenizer["path"] = str(base.absolute() / Path(own).expanduser())
    for name in list(sources):
        sources[name]["path"] = anchored_path(str(sources[name]["path"]), base)
    return tomlkit.dumps(document)


def _value(text: str) -> Any:
    """A TOML value; what is none is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _free_sibling(run: RunDirectory, name: str) -> RunDirectory:
    if not name or Path(name).name != name or name.startswith("."):
        raise SettingsError(f"{shown(name)}: a fork lies beside its parent: give a plain name")
    path = run.path.resolve().with_name(name)
    for named in (run.path.resolve(), path):
        if not is_utf_8(named):
            raise SettingsError(f"{shown(named)}: is no UTF-8, as fork.json has to be; rename it")
    if path.exists():
        raise SettingsError(f"{path}: is there already; give the fork another name")
    return RunDirectory(path)


def _phase_after(run: RunDirectory, step: int) -> int:
    """The phase in which the parent went on from `step`."""
    return 1 + sum(1 for phase, _ in run.archived_phases() if _boundary(run, phase) <= step)


def _boundary(run: RunDirectory, phase: int) -> int:
    """The last step of an archived phase."""
    path = run.phase_archive(phase) / run.pivot.name
    path = path if path.exists() else run.pivot  # of a pivot whose first step is waited for
    try:
        return int(orjson.loads(read_file(path))["held"]["step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HistoryError(f"{path}: the boundary of phase {phase} can't be read") from error


def _settings_text(run: RunDirectory, phase: int) -> str:
    is_current = phase == run.current_phase()
    path = run.settings if is_current else run.phase_archive(phase) / run.settings.name
    return load_text(path)[0]


def _checkpoint(run: RunDirectory, step: int, settings: Settings) -> Checkpoint:
    n_params = None if settings.trainer.command else settings.model.n_params
    inventory = own_checkpoints(run, n_params)
    if found := inventory.at(step):
        return found
    skipped = {skip.path.name: skip.reason for skip in inventory.skipped}
    if reason := skipped.get(checkpoint_name(step)):
        raise SettingsError(f"{run.path / checkpoint_name(step)}: not this run's: {reason}")
    nearest = min(inventory.checkpoints, key=lambda found: abs(found.step - step), default=None)
    hint = "there is none yet" if nearest is None else f"the nearest is {nearest.step}"
    raise SettingsError(f"{run.path}: no checkpoint of step {step}; {hint}")


def _fill(
    fork: RunDirectory,
    run: RunDirectory,
    base: Checkpoint,
    phase: int,
    text: str,
    settings: Mapping[str, str],
    t: float,
) -> None:
    write_atomic(fork.settings, text.encode())
    _copy_history(run, fork, base.step)
    for earlier in range(1, phase):
        _copy_archive(run.phase_archive(earlier), fork.phase_archive(earlier), run)
    samples = _samples(run, phase, base.step)
    _write_records(fork.samples, samples)
    if run.tokenizer.exists():
        clone_file(run.tokenizer, fork.tokenizer)
    tokens_bytes, tokens_cloned_by = _clone_tokens(run, fork)
    sha256 = digest_of(base.path)
    _check_audited(base, sha256, samples)
    cloned_by = clone_file(base.path, fork.path / base.path.name)
    if cloned_by == "copy" and digest_of(fork.path / base.path.name) != sha256:
        raise HistoryError(f"{fork.path / base.path.name}: differs from {base.path}")
    made = Fork(
        parent=run.name,
        step=base.step,
        sha256=sha256,
        bytes=base.n_bytes,
        cloned_by=cloned_by,
        t=t,
        settings={name: _value(value) for name, value in settings.items()},
        lineage=(Base(parent=run.name, step=base.step, sha256=sha256), *_lineage(run)),
        tokens_bytes=tokens_bytes,
        tokens_cloned_by=tokens_cloned_by,
    )
    with contextlib.suppress(HistoryError):  # pins that can't be read are no reason for no fork
        if (note := read_pins(run).get(base.step)) is not None:
            pin(fork, base.step, note)
    write_atomic(fork.fork, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2) + b"\n")


def _clone_tokens(run: RunDirectory, fork: RunDirectory) -> tuple[int, str]:
    """Bytes, and how; they are of the text that the run began with, whatever became of its files.

    Of several ways the dearest is told.
    """
    n_bytes, ways = 0, set()
    for path in sorted(run.tokens.rglob("*")):
        if path.is_file() and not path.name.endswith(".partial"):
            ways.add(clone_file(path, fork.path / path.relative_to(run.path)))
            n_bytes += path.stat().st_size
    return n_bytes, next((way for way in ("copy", "hard link", "reflink") if way in ways), "")


def _copy_history(run: RunDirectory, fork: RunDirectory, step: int) -> None:
    records = [r for r in load_records(run.loss).records if _step(r) <= step]
    known = canonical(records)
    missing = next((number for number in range(1, step + 1) if number not in known), None)
    if missing is not None:
        raise HistoryError(f"{run.loss}: has no record of step {missing}; a fork needs them all")
    _write_records(fork.loss, records)


def _copy_archive(source: Path, target: Path, run: RunDirectory) -> None:
    """All but the state: a fork has none to be compared with, for its settings may differ."""
    for path in sorted(source.iterdir()):
        if path.is_file() and path.name != run.state.name:
            clone_file(path, target / path.name)


def _samples(run: RunDirectory, phase: int, step: int) -> list[Record]:
    is_current = phase == run.current_phase()
    path = run.samples if is_current else run.phase_archive(phase) / run.samples.name
    return [record for record in load_records(path).records if _step(record) <= step]


def _step(record: Record) -> int:
    step = record.get("step")
    return step if isinstance(step, int) else 0


def _write_records(path: Path, records: list[Record]) -> None:
    array = RecordArray(path)
    array.pending += [orjson.dumps(record) for record in records]
    array.flush()
    array.sync()
    array.close()


def _check_audited(base: Checkpoint, sha256: str, samples: list[Record]) -> None:
    audits = [record for record in samples if record.get("checkpoint") == base.path.name]
    if audits and audits[-1].get("sha256") not in (None, "", sha256):
        raise HistoryError(f"{base.path}: is not the file that was audited: sha256 {sha256}")


def _lineage(run: RunDirectory) -> tuple[Base, ...]:
    try:
        written = orjson.loads(read_file(run.fork))["lineage"]
        return tuple(Base(**entry) for entry in written)
    except FileNotFoundError:
        return ()
    except (ValueError, KeyError, TypeError) as error:
        raise HistoryError(f"{run.fork}: the lineage can't be read: {error}") from error


def _pivot(fork: RunDirectory, base: Checkpoint, change: PolicyChange, t: float) -> None:
    """A pivot of the fork before it ever starts: nobody else knows the directory yet."""
    before, settings = load_text(fork.settings)
    text = apply_change(before, change)
    check_sources(fork, settings, parse_settings(text))
    pivot = request_pivot(fork, text, mode=HoldMode.NOW, note=change.note, step=base.step, t=t)
    pivot = archive(fork, hold(fork, pivot, base, t), t)
    retire(fork, restart(fork, commit(fork, pivot, t), t))
