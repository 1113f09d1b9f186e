"""Runs side by side: curves over the same steps, the same held-out text, settings, a verdict."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.fork.by_source import SourceLoss, by_source, rows_of
from console.fork.paired_rows import Paired, pair, verdict
from console.view.audits import audit_of
from trainer.rundir.config.run_toml import flat_settings, load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.all_audits import all_audits
from trainer.rundir.records.record_fields import number, step_of, words
from trainer.rundir.records.record_file import Record, canonical, load_records

_MADE = ("arm", "loss", "grad_norm", "lr")
"""What of a step's record is the same where two runs are the same."""
_CURRICULUM = ("sources.", "policy.", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is read of one run."""

    name: str
    settings: Mapping[str, Any]
    history: Mapping[int, Record]
    """Loss records by step."""
    audits: Mapping[int, Record]
    """Of all phases, by step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSample:
    """What a run wrote behind a prompt that all have."""

    prompt: str
    text: str
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One run of a comparison, at the steps that all have."""

    name: str
    ema: float | None
    """Of the training loss, at the last step."""
    mean_loss: float | None
    """Of the training loss, over the steps since the runs parted."""
    score: float | None
    val_loss: float | None
    """Over the held-out rows that all share."""
    text: str
    """The first sample: the one that is scored above."""
    samples: tuple[SharedSample, ...]
    """One of each prompt that all have, in the same order in all; the first's own first."""
    mean_score: float | None
    """Of these samples."""
    against_first: Paired | None
    """None for the first run."""
    verdict: str
    """Empty for the first run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that a screen or a script shows."""

    columns: tuple[Column, ...]
    parted_after: int
    """The last step up to which all histories are the same; 0: they share none."""
    last_step: int
    """The last step that all have trained."""
    audited_step: int | None
    """The newest step that all have audited."""
    shared_rows: int
    """Held-out rows that all have at that step."""
    sources: tuple[SourceLoss, ...]
    """`val_loss` at that step by source."""
    differences: Mapping[str, tuple[Any, ...]]
    """Settings that are not the same in all, by name."""
    remarks: tuple[str, ...]
    """What a reader has to know about these numbers."""


def read_side(run: RunDirectory) -> Side:
    """Read a run; raises `SettingsError`, `HistoryError` or `OSError`."""
    return Side(
        name=run.name,
        settings=flat_settings(load_settings(run.settings)),
        history=canonical(load_records(run.loss).records),
        audits={
            step: record for record in all_audits(run) if (step := step_of(record)) is not None
        },
    )


def compare(sides: Sequence[Side]) -> Comparison:
    """Put two runs or more side by side; each is judged against the first."""
    last_step = min(max(side.history, default=0) for side in sides)
    parted_after = _parted_after([side.history for side in sides], last_step)
    audited = set.intersection(*(set(side.audits) for side in sides))
    audited_step = max(audited, default=None)
    at_step = [side.audits.get(audited_step or -1, {}) for side in sides]
    rows = [rows_of(audit) for audit in at_step]
    shared = set.intersection(*(set(of_side) for of_side in rows))
    differences = _differences(sides)
    samples = shared_samples(at_step)
    columns = []
    for side, of_side, its_samples in zip(sides, rows, samples, strict=True):
        is_first = side is sides[0]
        paired = None if is_first else pair(_only(rows[0], shared), _only(of_side, shared))
        audit = side.audits.get(audited_step or -1, {})
        columns.append(
            Column(
                name=side.name,
                ema=number(side.history.get(last_step, {}), "ema"),
                mean_loss=_mean_loss(side.history, parted_after, last_step),
                score=number(audit, "score"),
                val_loss=statistics.fmean(of_side[r] for r in shared) if shared else None,
                text=words(audit, "text"),
                samples=its_samples,
                mean_score=_mean_score(its_samples),
                against_first=paired,
                verdict="" if is_first else verdict(sides[0].name, side.name, paired),
            )
        )
    return Comparison(
        columns=tuple(columns),
        parted_after=parted_after,
        last_step=last_step,
        audited_step=audited_step,
        shared_rows=len(shared),
        sources=by_source(at_step),
        differences=differences,
        remarks=_remarks(differences, audited_step, parted_after, rows, shared),
    )


def shared_samples(audits: Sequence[Record]) -> list[tuple[SharedSample, ...]]:
    """Of each audit the samples behind those prompts that all have, in the first one's order."""
    of_all = [_samples_by_prompt(audit) for audit in audits]
    prompts = [prompt for prompt in of_all[0] if all(prompt in of_one for of_one in of_all)]
    return [tuple(of_one[prompt] for prompt in prompts) for of_one in of_all]


def _samples_by_prompt(record: Record) -> dict[str, SharedSample]:
    audit = audit_of(record)
    return {
        sample.prompt: SharedSample(prompt=sample.prompt, text=sample.text, score=sample.score)
        for sample in (audit.samples if audit else ())
    }


def _mean_score(samples: Sequence[SharedSample]) -> float | None:
    scores = [sample.score for sample in samples if sample.score is not None]
    return statistics.fmean(scores) if scores and len(scores) == len(samples) else None


def _parted_after(histories: Sequence[Mapping[int, Record]], last_step: int) -> int:
    for step in range(1, last_step + 1):
        made = [_outcome(history.get(step)) for history in histories]
        if made[0] is None or any(outcome != made[0] for outcome in made):
            return step - 1
    return last_step


def _outcome(record: Record | None) -> tuple[Any, ...] | None:
    return None if record is None else tuple(record.get(k) for k in _MADE)


def _mean_loss(history: Mapping[int, Record], after: int, last_step: int) -> float | None:
    losses = [number(history.get(step, {}), "loss") for step in range(after + 1, last_step + 1)]
    known = [loss for loss in losses if loss is not None]
    return statistics.fmean(known) if known else None


def _only(rows: Mapping[str, float], shared: set[str]) -> dict[str, float]:
    return {row: loss for row, loss in rows.items() if row in shared}


def _differences(sides: Sequence[Side]) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for side in sides for name in side.settings)
    values = {name: tuple(side.settings.get(name) for side in sides) for name in names}
    return {name: of_all for name, of_all in values.items() if any(v != of_all[0] for v in of_all)}


def _remarks(
    differences: Mapping[str, Any],
    audited_step: int | None,
    parted_after: int,
    rows: Sequence[Mapping[str, float]],
    shared: set[str],
) -> tuple[str, ...]:
    remarks = []
    if any(name.startswith(_CURRICULUM) for name in differences):
        remarks.append(
            "training losses are of different texts here, so they say nothing about which run is"
            " better; val_loss on the same held-out text does"
        )
    if audited_step is None:
        remarks.append("there is no step that all have audited: train them to the same checkpoint")
    elif audited_step <= parted_after:
        remarks.append("at the newest step that all have audited, they had not parted yet")
    if audited_step is not None and any(len(of_side) > len(shared) for of_side in rows):
        remarks.append(
            f"val_loss is over the {len(shared)} held-out rows that all share; sources that not"
            " all have are left out"
        )
    return tuple(remarks)
