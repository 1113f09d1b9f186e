"""The run that the console is shown and measured on, before the judge."""

from typing import Any

import numpy as np
import numpy.typing as npt

from console.health.evidence import Evidence, first_steps
from console.health.judge import judge
from tests.benchmarks.day23 import (
    ARMS,
    EVERY,
    audit_record,
    decays_from,
    loss_record,
    spike_at,
)

RECORDS = 200_000


def column(records: list[dict[str, Any]], name: str) -> npt.NDArray[Any]:
    return np.array([record[name] for record in records])


def test_score_is_said_to_decay_since_120000_and_the_spike_is_no_reason() -> None:
    losses = [loss_record(step, RECORDS, 0.0) for step in range(1, RECORDS + 1)]
    audits = [audit_record(step, RECORDS) for step in range(EVERY, RECORDS + 1, EVERY)]
    step = column(losses, "step")
    evidence = Evidence(
        step=step,
        loss=column(losses, "loss"),
        grad_norm=column(losses, "grad_norm"),
        ms=column(losses, "ms"),
        tokens=column(losses, "tokens"),
        arm=np.array([ARMS.index(record["arm"]) for record in losses]),
        arms=ARMS,
        pivots=first_steps(step, column(losses, "phase")),
        restarts=first_steps(step, column(losses, "attempt")),
        max_grad_norm=1.0,
        audit_step=column(audits, "step"),
        score=column(audits, "score"),
        val_loss=column(audits, "val_loss"),
        val_losses={arm: np.array([audit["val_losses"][arm] for audit in audits]) for arm in ARMS},
    )
    health = judge(evidence)
    assert [reason.series for reason in health.reasons] == ["score"]
    reason = health.reasons[0]
    assert reason.since_step is not None
    assert abs(reason.since_step - decays_from(RECORDS)) <= 0.02 * RECORDS, health.headline
    assert reason.text == "audit score 75 → 37"


def test_spike_at_61300_has_recovered_within_a_hundred_steps() -> None:
    at = spike_at(RECORDS)
    loss = [loss_record(step, RECORDS, 0.0)["loss"] for step in range(at - 20, at + 120)]
    assert at == 61_300
    assert loss[20] > max(loss[:20]) + 3
    assert max(loss[120:]) < loss[20] - 3
