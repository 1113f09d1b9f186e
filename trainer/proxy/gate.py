"""The coherence gate: whether the audits of a phase say that the run should halt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.rundir.config.settings import AuditSettings
from trainer.rundir.records.record_fields import step_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """What the newest audits in a row add up to."""

    low_in_a_row: int
    """Audits under the threshold since the last one that wasn't."""
    last_step: int | None
    """Step of the newest audit that counts."""
    should_halt: bool


def judge(
    samples: Iterable[Mapping[str, Any]], *, settings: AuditSettings, warmup_steps: int
) -> GateVerdict:
    """Fold the phase's sample records (`step`, `score`) into a verdict.

    The last record of a step counts, steps in their order; audits up to the end of the warm-up
    don't count, nor does one without a score. With a patience of 0 the gate is off.
    """
    scores = {step: s.get("score") for s in samples if (step := step_of(s)) is not None}
    counted = sorted(
        (step, score)
        for step, score in scores.items()
        if step > warmup_steps and isinstance(score, int | float)
    )
    low = 0
    for _, score in counted:
        low = low + 1 if score < settings.threshold else 0
    return GateVerdict(
        low_in_a_row=low,
        last_step=counted[-1][0] if counted else None,
        should_halt=0 < settings.patience <= low,
    )
