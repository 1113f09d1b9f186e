"""Training steps of a run again in a scratch directory, to compare with what is on file."""

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.process.launch import launch_trainer
from trainer.rundir.atomic import write_atomic
from trainer.rundir.checkpoints.checkpoint import Checkpoint, list_checkpoints
from trainer.rundir.checkpoints.coverage import own_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.reading import RECORDS_BYTES, TOKENIZER_BYTES, read_file
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.records.record_file import canonical, load_records
from trainer.rundir.records.record_lines import Record, encode_record
from trainer.rundir.state import read_state
from trainer.rundir.verification import Finding

COMPARED = tuple(sorted({*LossRecord.__struct_fields__} - {"attempt", "ms", "t"}))
"""All of a record but the times and the number of the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What is trained again."""

    first: int
    last: int
    base: Checkpoint | None
    """Resumed from; `None`: from the seed."""
    until: int
    """The checkpoint to compare with, or `last` where there is none."""
    phase: int

    @property
    def base_step(self) -> int:
        return self.base.step if self.base else 0


def replay(run: RunDirectory, first: int, last: int) -> Iterator[Finding]:
    """Train steps `first` to `last` again, on to the next checkpoint, and compare bit for bit.

    The scratch directory lies beside the run (same disk: nothing large is copied) and is removed.
    Raises `SettingsError` where the run can't be replayed there, `OSError`.
    """
    history = canonical(load_records(run.loss).records)
    span = span_of(run, history, first, last)
    scratch = Path(tempfile.mkdtemp(prefix=f".{run.name}.replay-", dir=run.path.resolve().parent))
    try:
        again = RunDirectory(scratch)
        _prepare(run, again, span, history)
        trainer = launch_trainer(again, arguments=("--until", str(span.until), "--ranks", "1"))
        try:
            code = trainer.wait(None)
        finally:
            trainer.kill()
        if code != Exit.FINISHED:
            last_words = (
                read_file(again.log, at_most=RECORDS_BYTES)
                .decode(errors="replace")
                .rstrip()
                .rpartition("\n")[2]
            )
            yield Finding(part="replay", ok=False, what=f"the trainer ended: {last_words}")
            return
        yield from _compare(run, again, span, history)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def span_of(run: RunDirectory, history: dict[int, Record], first: int, last: int) -> Span:
    """From which checkpoint to which; raises `SettingsError`."""
    if not 1 <= first <= last <= max(history, default=0):
        known = f"1 to {max(history, default=0):,}"
        raise SettingsError(f"--replay {first}..{last}: the history has steps {known}")
    checkpoints = own_checkpoints(run, None).checkpoints
    base = max((c for c in checkpoints if c.step < first), key=lambda c: c.step, default=None)
    until = min((c.step for c in checkpoints if c.step >= last), default=last)
    begun = base.step + 1 if base else 1
    phases = {history[step].get("phase") for step in range(begun, last + 1) if step in history}
    if len(phases) > 1:
        raise SettingsError(f"--replay {first}..{last}: a pivot lies between; replay each phase")
    if history.get(until, {}).get("phase") not in phases:
        until = last
    return Span(first=first, last=last, base=base, until=until, phase=_whole(phases.pop()))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 1


def _prepare(
    run: RunDirectory, again: RunDirectory, span: Span, history: dict[int, Record]
) -> None:
    write_atomic(again.settings, read_file(run.settings_of_phase(span.phase)), durable=False)
    tokenizer = read_file(run.tokenizer, at_most=TOKENIZER_BYTES)
    write_atomic(again.tokenizer, tokenizer, durable=False)
    for path in run.tokens.rglob("*.*"):
        if path.is_file() and path.suffix != ".partial":
            _link(path, again.tokens / path.relative_to(run.tokens))
    for phase, folder in run.archived_phases():
        if phase < span.phase:
            (again.archive / folder.name).mkdir(parents=True)
    if span.base:
        _link(span.base.path, again.path / span.base.path.name)
    past = [encode_record(history[step]) for step in range(1, span.base_step + 1)]
    again.loss.write_bytes(b"[\n" + b",\n".join(past) + b"\n]\n" if past else b"[\n]\n")


def _link(source: Path, target: Path) -> None:
    """The same bytes under another name; a copy where the disk can't link. Neither is written to
    again: whatever replaces such a file is written beside it and renamed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _compare(
    run: RunDirectory, again: RunDirectory, span: Span, history: dict[int, Record]
) -> Iterator[Finding]:
    found = canonical(load_records(again.loss).records)
    differing = [
        step
        for step in range(span.first, span.last + 1)
        if not _is_same(history[step], found.get(step, {}))
    ]
    steps = f"steps {span.first:,} to {span.last:,} trained again from step {span.base_step:,}"
    if differing:
        what = f"{steps}: {len(differing):,} differ, the first is step {differing[0]:,}"
        yield Finding(part="replay", ok=False, what=what + _cause(run, again))
    else:
        yield Finding(part="replay", ok=True, what=f"{steps}: every record the same")
    ours = {c.path.name for c in own_checkpoints(run, None).checkpoints}
    made = [c for c in list_checkpoints(again.path, None).checkpoints if c.step > span.base_step]
    for checkpoint in made:
        if checkpoint.path.name in ours:
            yield _same_bytes(run.path / checkpoint.path.name, checkpoint.path)


def _is_same(told: Record, again: Record) -> bool:
    """In all that the record on file tells: one of an earlier version knew fewer fields."""
    return all(again.get(key) == told[key] for key in COMPARED if key in told)


def _same_bytes(ours: Path, made: Path) -> Finding:
    is_same = filecmp.cmp(ours, made, shallow=False)
    how = "the same bytes" if is_same else "other bytes"
    return Finding(part="replay", ok=is_same, what=f"{ours.name} made again: {how}")


def _cause(run: RunDirectory, again: RunDirectory) -> str:
    """What of the environment is another than at the run's last start."""
    before, now = read_state(run.state), read_state(again.state)
    if before is None or now is None:
        return ""
    others = [
        f"{name} {before.environment[name]} → {now.environment.get(name)}"
        for name in before.environment
        if before.environment[name] != now.environment.get(name)
    ]
    return f" (another environment: {', '.join(others)})" if others else ""
