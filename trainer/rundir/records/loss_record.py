"""One step's record in `.loss.json`, as its readers take it: hundreds of thousands of them."""

from typing import Annotated, Any

import msgspec

from trainer.rundir.checkpoints.checkpoint import INT32_MAX
from trainer.rundir.records.record_fields import fields_told, step_of
from trainer.rundir.records.record_lines import Record, read_records

Step = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class LossRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Typed, not a dict: a long history is read and folded in less than half the time.

    `None`, no arm and 0 tokens are what a record does not tell, or tells as something that it
    can't be. Floats are finite. Fields of other names are passed over, and not looked into.
    """

    step: Step | None = None
    attempt: Whole | None = None
    phase: Whole | None = None
    arm: str = ""
    loss: float | None = None
    """Mean over the batch, nats a token; one that is not finite is null, and in `nonfinite`."""
    ema: float | None = None
    lr: float | None = None
    grad_norm: float | None = None
    """Global norm before clipping."""
    reward: float | None = None
    """In [0, 1]."""
    tokens: Whole = 0
    ms: float | None = None
    """What the step took by the monotonic clock, milliseconds."""
    t: float | None = None
    """Wall clock, seconds."""
    nonfinite: dict[str, str] | None = None
    """`NaN`, `Infinity` or `-Infinity` by the name of the field that is null for it."""

    lost: bool = False
    """Nothing is known of the step but that it was trained: its history was given up."""

    def nonfinite_of(self, name: str) -> str:
        """The value that field `name` is null for; empty where there is none."""
        value = (self.nonfinite or {}).get(name, "")
        return value if value in ("NaN", "Infinity", "-Infinity") else ""


_decoder = msgspec.json.Decoder(list[LossRecord])


def read_loss_records(array: bytes) -> list[LossRecord] | None:
    """The records of a JSON array; `None` if it is not one of objects, strictly written."""
    try:
        return _decoder.decode(array)
    except (msgspec.DecodeError, RecursionError):  # no strict JSON, or of other types
        records = read_records(array)
        return None if records is None else [_tolerant(record) for record in records]


def canonical_losses(records: list[LossRecord]) -> tuple[list[int], list[LossRecord]]:
    """The last record of each step, by step ascending, and before them the steps."""
    steps = [-1 if record.step is None else record.step for record in records]
    if steps and steps[0] >= 0 and steps == list(range(steps[0], steps[0] + len(steps))):
        return steps, records
    last = {record.step: record for record in records if record.step is not None}
    steps = sorted(last)
    return steps, [last[step] for step in steps]


def _tolerant(record: Record) -> LossRecord:
    """Of a record that anyone may have written."""
    of_others = {
        "step": step_of(record),
        "nonfinite": _texts(record.get("nonfinite")),
        "lost": record.get("lost") is True,
    }
    return LossRecord(**fields_told(LossRecord, record) | of_others)


def _texts(value: Any) -> dict[str, str] | None:
    if not isinstance(value, dict):
        return None
    return {name: text for name, text in value.items() if isinstance(text, str)}
