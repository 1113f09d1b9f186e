"""Checking a run's files against each other and against the contract; reads, changes nothing."""

import hashlib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from trainer.rundir.checkpoints.checkpoint import (
    CHUNK_BYTES,
    Checkpoint,
    Inventory,
    checkpoint_name,
)
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.checkpoints.coverage import own_checkpoints, what_history_lost
from trainer.rundir.checkpoints.pins import pinned_steps
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.environment import recorded_environment
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import RunError
from trainer.rundir.reading import (
    RECORDS_BYTES,
    TOKENIZER_BYTES,
    read_file,
    reading,
    strangers_in,
)
from trainer.rundir.records.all_audits import all_audits
from trainer.rundir.records.mending import how_to_mend, wrong_with
from trainer.rundir.records.record_file import canonical
from trainer.rundir.records.record_lines import Record, parse_json
from trainer.rundir.sources.prepared import read_indexes
from trainer.rundir.state import State, read_state

_HEADER_BYTES = 8
_TRIES = 3
"""A read that races the one write of an append can catch it half done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was checked."""

    part: str
    """directory, settings, checkpoint, pins, history, audits, state, tokenizer, tokens, fork,
    replay.
    """
    ok: bool
    what: str


Steps = dict[int, Record]


def verify(run: RunDirectory) -> Iterator[Finding]:
    """Check everything in the directory; each finding comes as soon as it is known."""
    for stranger in strangers_in(run):
        yield Finding(part="directory", ok=False, what=stranger)
    try:
        settings = load_settings(run.settings)
    except RunError as error:
        yield Finding(part="settings", ok=False, what=str(error))
        return
    yield Finding(part="settings", ok=True, what=f"{run.settings.name} is valid")
    n_params = None if settings.trainer.command else settings.model.n_params
    # the history is read after the list and the state: what it must cover is on disk by then
    inventory = own_checkpoints(run, n_params)
    audits = yield from _check_audits(run)
    for skipped in inventory.skipped:
        yield Finding(part="checkpoint", ok=False, what=f"{skipped.path.name}: {skipped.reason}")
    for checkpoint in inventory.checkpoints:
        yield check_checkpoint(checkpoint, audits.get(checkpoint.step))
    yield from _check_owed(run, inventory, audits)
    yield from _check_pins(run, inventory)
    state = read_state(run.state)
    history = yield from _check_history(run, inventory)
    yield _check_state(run, state, history)
    yield from _check_text(run, state)
    yield from _check_fork(run, inventory)


def check_checkpoint(checkpoint: Checkpoint, audit: Record | None) -> Finding:
    """Size, header and name agree already: its bytes against its audit, its values finite."""
    name = checkpoint.path.name
    try:
        sha256, n_nonfinite = _digest(checkpoint.path)
    except FileNotFoundError:
        return Finding(part="checkpoint", ok=True, what=f"{name}: was thinned meanwhile")
    except OSError as error:
        return Finding(part="checkpoint", ok=False, what=f"{name}: {error.strerror}")
    wrong = []
    if n_nonfinite:
        wrong.append(f"{n_nonfinite:,} values are not finite")
    if audit is not None and audit.get("checkpoint") != name:
        wrong.append(f"its audit names {audit.get('checkpoint')}")
    if audit is not None and audit.get("sha256") != sha256:
        wrong.append(f"sha256 is {sha256}, its audit says {audit.get('sha256')}")
    if wrong:
        return Finding(part="checkpoint", ok=False, what=f"{name}: {'; '.join(wrong)}")
    compared = "sha256 as audited" if audit else "not audited yet"
    what = f"{name}: {checkpoint.n_bytes:,} bytes, finite, {compared}"
    return Finding(part="checkpoint", ok=True, what=what)


def _digest(path: Path) -> tuple[str, int]:
    """sha256 of the file, and how many of its float32 values are not finite."""
    digest, n_nonfinite = hashlib.sha256(), 0
    with reading(path) as file:
        digest.update(file.read(_HEADER_BYTES))
        buffer = memoryview(bytearray(CHUNK_BYTES))
        while n_read := file.readinto(buffer):
            digest.update(buffer[:n_read])
            values = np.frombuffer(buffer[: n_read - n_read % 4], "<f4")
            n_nonfinite += int(values.size - np.isfinite(values).sum())
    return digest.hexdigest(), n_nonfinite


def _check_audits(run: RunDirectory) -> Generator[Finding, None, Steps]:
    strict, _ = _strict(run.samples, "audits")
    yield strict
    try:
        return canonical(all_audits(run))
    except (OSError, RunError) as error:
        yield Finding(part="audits", ok=False, what=str(error))
        return {}


def _check_owed(run: RunDirectory, inventory: Inventory, audits: Steps) -> Iterator[Finding]:
    """Each checkpoint has an audit; only the newest may wait for the next start to make it."""
    owed = [c.path.name for c in inventory.checkpoints[:-1] if c.step not in audits]
    if owed:
        what = f"{run.samples.name}: no audit of {owed[0]} ({len(owed):,} missing)"
        yield Finding(part="audits", ok=False, what=f"{what}: it was lost or cut")


def _check_pins(run: RunDirectory, inventory: Inventory) -> Iterator[Finding]:
    """What is pinned is there."""
    try:
        pinned = pinned_steps(run)
    except RunError as error:
        yield Finding(part="pins", ok=False, what=str(error))
        return
    for step in sorted(pinned - {checkpoint.step for checkpoint in inventory.checkpoints}):
        yield Finding(part="pins", ok=False, what=f"{checkpoint_name(step)}: pinned, and not there")


def _check_history(run: RunDirectory, inventory: Inventory) -> Generator[Finding, None, Steps]:
    strict, records = _strict(run.loss, "history")
    yield strict
    if not strict.ok:
        return {}
    history = canonical(record for record in records if isinstance(record, dict))
    last = max(history, default=0)
    gaps = [step for step in range(1, last + 1) if step not in history]
    covers = f"one record a step from 1 to {last:,}"
    if len(records) > len(history):
        covers += f" ({len(records) - len(history):,} of replays that differed)"
    if n_lost := sum(record.get("lost") is True for record in history.values()):
        covers += f" ({n_lost:,} of them only say that the step's own was lost)"
    what = f"no record of step {gaps[0]:,} ({len(gaps):,} missing)" if gaps else covers
    yield Finding(part="history", ok=not gaps, what=what)
    try:
        lost = what_history_lost(run, inventory)
    except (OSError, RunError):
        lost = ""  # of audits that can't be read, which are a finding of their own
    if lost:
        yield Finding(part="history", ok=False, what=lost)
    unnamed = [step for step, record in history.items() if not _is_told(record)]
    if unnamed:
        what = f"step {unnamed[0]:,}: a loss that is null and not named in `nonfinite`"
        yield Finding(part="history", ok=False, what=what)
    return history


def _is_told(record: Record) -> bool:
    named = record.get("nonfinite")
    is_known = record.get("loss") is not None or record.get("lost") is True
    return is_known or (isinstance(named, dict) and "loss" in named)


def _strict(path: Path, part: str) -> tuple[Finding, list[Any]]:
    """Whether the whole file is an array of one record a line, in strict JSON, and what it holds;
    a missing one nothing.
    """
    message = ""
    for _ in range(_TRIES):
        try:
            data = read_file(path, at_most=RECORDS_BYTES, follows_links=False)
        except FileNotFoundError:
            return Finding(part=part, ok=True, what=f"{path.name}: not there yet"), []
        except OSError as error:
            return Finding(part=part, ok=False, what=f"{path.name}: {error.strerror}"), []
        wrong = wrong_with(data)
        if not wrong and isinstance(written := parse_json(data), list):
            what = f"{path.name}: strict JSON, {len(written):,} records"
            return Finding(part=part, ok=True, what=what), written
        message = f"{path.name}: {wrong or 'its end is torn: the next start cuts it'}"
        if wrong:
            message += f"; {how_to_mend(path)}"
    return Finding(part=part, ok=False, what=message), []


def _check_state(run: RunDirectory, state: State | None, history: Steps) -> Finding:
    if state is None:
        ok = not run.state.exists()
        what = "not there yet" if ok else "not a JSON object; the next start makes it again"
        return Finding(part="state", ok=ok, what=f"{run.state.name}: {what}")
    last, phase = max(history, default=0), run.current_phase()
    if state.phase != phase:
        what = f"says phase {state.phase}, the archive ends before phase {phase}"
    elif state.step > last:
        what = f"says step {state.step:,}, the history ends at {last:,}"
    else:
        what = f"{run.state.name}: phase {phase}, step {state.step:,}, as the other files"
        return Finding(part="state", ok=True, what=what)
    return Finding(part="state", ok=False, what=f"{run.state.name}: {what}")


def _check_text(run: RunDirectory, state: State | None) -> Iterator[Finding]:
    """The tokenizer and the prepared tokens are those that the history was trained with."""
    trained = recorded_environment(run, state)
    name = run.tokenizer.name
    try:
        sha256 = digest_of(run.tokenizer, at_most=TOKENIZER_BYTES)
    except OSError as error:
        if trained.tokenizer:
            what = f"{name}: {error.strerror}; put it back: its sha256 is {trained.tokenizer}"
            yield Finding(part="tokenizer", ok=False, what=what)
        return
    ok = trained.tokenizer in ("", sha256)
    instead = f"sha256 is {sha256}, the run was trained with {trained.tokenizer}"
    told = "that the run was trained with" if trained.tokenizer else "nothing to compare it with"
    yield Finding(part="tokenizer", ok=ok, what=f"{name}: {told if ok else instead}")
    for source, index in read_indexes(run.tokens):
        known = trained.texts.get(source, "")
        wrong = [] if index.is_of(known) else ["are of another text than the run was trained on"]
        wrong += [] if index.tokenizer == sha256 else [f"were made with another {name}"]
        tokens = f"{index.train_tokens + index.held_out_tokens:,}"
        what = f"tokens of {source}: {' and '.join(wrong) or tokens}"
        yield Finding(part="tokens", ok=not wrong, what=what)


def _check_fork(run: RunDirectory, inventory: Inventory) -> Iterator[Finding]:
    """A fork's first checkpoint is its parent's, byte for byte."""
    if not run.fork.exists():
        return
    try:
        fork: Any = orjson.loads(read_file(run.fork))
        step, sha256 = int(fork["step"]), str(fork["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Finding(part="fork", ok=False, what=f"{run.fork.name}: can't be read: {error}")
        return
    yield _lineage(fork, step, sha256, {c.step: c for c in inventory.checkpoints})


def _lineage(
    fork: Mapping[str, Any], step: int, sha256: str, checkpoints: Mapping[int, Checkpoint]
) -> Finding:
    base = checkpoints.get(step)
    if base is None:
        return Finding(part="fork", ok=False, what=f"its base, step {step:,}, is not there")
    ours, _ = _digest(base.path)
    if ours != sha256:
        what = f"{base.path.name} is not the parent's: sha256 {ours} instead of {sha256}"
        return Finding(part="fork", ok=False, what=what)
    return Finding(part="fork", ok=True, what=f"{base.path.name} is that of {fork.get('parent')}")
