"""What a checkpoint's loss is on the whole held-out text: `evaluations/step_NNNNNN.json`.

A file a checkpoint, made when somebody asks, replaced whole, and never read by the trainer: the
audits, which are appended while it trains, stay as they are.
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.atomic import sync_directory, write_atomic
from trainer.rundir.checkpoints.checkpoint import checkpoint_name
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import read_file
from trainer.rundir.records.record_fields import fields_told, step_of

_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutLoss:
    """The loss on one text, nats a token."""

    val_loss: float
    standard_error: float | None
    """Of `val_loss`, from how much its rows differ; `None`: there are too few to tell."""
    tokens: int
    """Targets that it is the mean of."""
    rows: int
    """Rows of the model's context; the last one may be shorter."""
    bytes: int
    """Of the text in UTF-8."""
    text: str = ""
    """The first digits of the source's fingerprint."""
    seconds: float = 0.0

    @property
    def bits_per_byte(self) -> float | None:
        """What compares models with other tokenizers."""
        return self.val_loss * self.tokens / math.log(2) / self.bytes if self.bytes else None

    def as_json(self) -> dict[str, Any]:
        """For file and scripts."""
        return {**asdict(self), "bits_per_byte": self.bits_per_byte}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Of one checkpoint."""

    step: int
    checkpoint: str
    sha256: str
    """Of the checkpoint: a file of other bytes has another evaluation."""
    sources: Mapping[str, HeldOutLoss] = field(default_factory=dict)
    """Those that were asked for so far; names are foreign text."""
    tests: Mapping[str, HeldOutLoss] = field(default_factory=dict)
    """Test sets that were asked for so far, by name."""
    device: str = ""
    precision: str = ""
    t: float | None = None
    """Wall clock, seconds: when the last of them was done."""

    @property
    def whole(self) -> HeldOutLoss | None:
        """Over all the sources, each token counting the same."""
        return joined(self.sources.values())

    def as_json(self) -> dict[str, Any]:
        """For file and scripts."""
        whole = self.whole
        return {
            **{name: getattr(self, name) for name in ("step", "checkpoint", "sha256")},
            "sources": {name: each.as_json() for name, each in self.sources.items()},
            "tests": {name: each.as_json() for name, each in self.tests.items()},
            "whole": None if whole is None else whole.as_json(),
            **{name: getattr(self, name) for name in ("device", "precision", "t")},
        }


def joined(parts: Iterable[HeldOutLoss]) -> HeldOutLoss | None:
    """Several texts as one, each token counting the same; `None` for no text."""
    texts = [part for part in parts if part.tokens]
    tokens = sum(part.tokens for part in texts)
    if not tokens:
        return None
    errors = [part.standard_error for part in texts]
    spread = [(e * p.tokens) ** 2 for e, p in zip(errors, texts, strict=True) if e is not None]
    return HeldOutLoss(
        val_loss=math.fsum(part.val_loss * part.tokens for part in texts) / tokens,
        standard_error=None if None in errors else math.sqrt(math.fsum(spread)) / tokens,
        tokens=tokens,
        rows=sum(part.rows for part in texts),
        bytes=sum(part.bytes for part in texts),
        seconds=sum(part.seconds for part in texts),
    )


def add_evaluation(run: RunDirectory, made: Evaluation) -> Evaluation:
    """Keep it, durably, with what is known of the same checkpoint's other sources; the whole.

    Raises `HistoryError` for a folder that is none, or `OSError`.
    """
    before = read_evaluation(run, made.step)
    if before is not None and before.sha256 == made.sha256:
        made = replace(
            made,
            sources={**before.sources, **made.sources},
            tests={**before.tests, **made.tests},
        )
    if not run.evaluations.is_dir():
        if run.evaluations.is_symlink() or run.evaluations.exists():
            raise HistoryError(f"{run.evaluations}: is no folder; move it away")
        run.evaluations.mkdir()
        sync_directory(run.path)
    made = replace(made, t=time.time())
    data = orjson.dumps(made.as_json(), option=orjson.OPT_INDENT_2)
    write_atomic(_path(run, made.step), data + b"\n")
    return made


def read_evaluation(run: RunDirectory, step: int) -> Evaluation | None:
    """What is known of the step's checkpoint; `None` where nothing is, or the file is damaged."""
    try:
        return evaluation_of(orjson.loads(read_file(_path(run, step))))
    except (OSError, ValueError):
        return None


def read_evaluations(run: RunDirectory) -> dict[int, Evaluation]:
    """All of them by step."""
    try:
        names = [path.name for path in run.evaluations.iterdir()]
    except OSError:
        return {}
    steps = (_step_in(name) for name in names)
    found = (read_evaluation(run, step) for step in steps if step is not None)
    return {each.step: each for each in found if each is not None}


def evaluation_of(told: object) -> Evaluation | None:
    """What a file that anyone may have written tells."""
    if not isinstance(told, Mapping) or (step := step_of(told)) is None:
        return None
    losses = {part: _losses_of(told.get(part)) for part in ("sources", "tests")}
    return Evaluation(**fields_told(Evaluation, told) | {"step": step, **losses})


def _losses_of(told: object) -> dict[str, HeldOutLoss]:
    return {
        str(name): loss
        for name, each in (told.items() if isinstance(told, Mapping) else ())
        if (loss := _loss_of(each)) is not None
    }


def _loss_of(told: object) -> HeldOutLoss | None:
    if not isinstance(told, Mapping):
        return None
    try:
        return HeldOutLoss(**fields_told(HeldOutLoss, told))
    except TypeError:  # a figure is missing
        return None


def _path(run: RunDirectory, step: int) -> Path:
    return run.evaluations / checkpoint_name(step).replace(".bin", _SUFFIX)


def _step_in(name: str) -> int | None:
    digits = name.removeprefix("step_").removesuffix(_SUFFIX)
    is_one = digits.isascii() and digits.isdigit() and len(digits) <= 10
    step = int(digits) if is_one else -1
    return step if name == checkpoint_name(step).replace(".bin", _SUFFIX) else None
