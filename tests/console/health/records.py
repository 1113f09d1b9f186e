"""Records of small runs, healthy until a test changes an array of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from console.health.evidence import Evidence
from console.health.judge import judge
from console.health.verdict import Health

Array = npt.NDArray[np.float64]

N = 8_000
EVERY = 40
ARMS = ("books", "code", "web", "wiki")
LEVELS = np.array([2.4, 3.0, 3.5, 4.0])
STEP = np.arange(1.0, N + 1)
AUDIT = np.arange(EVERY, N + 1, EVERY)


def learning(step: Array = STEP) -> Array:
    """A power law."""
    return np.asarray(6.0 * (1 + step / 50) ** -0.4)


def after(start: int, height: float, length: int = 1) -> Array:
    """(N,) 0 up to `start`, `height` after so many steps more."""
    return np.asarray(height * np.clip((STEP - start) / length, 0.0, 1.0))


def run(
    *,
    seed: int = 0,
    rises: Array | None = None,
    held_rises: Array | None = None,
    by_arm: dict[int, Array] | None = None,
    learned: Array = STEP,
    held_learned: Array | None = None,
    arm: npt.NDArray[np.int64] | None = None,
    score_falls: Array | None = None,
    **columns: Any,
) -> Evidence:
    """A healthy run of 8,000 steps and 200 audits over four unlike arms, and what is added."""
    chance = np.random.default_rng(seed)
    arms = chance.integers(0, len(ARMS), N) if arm is None else arm
    zero = np.zeros(N)
    loss = learning(learned) + LEVELS[arms] + chance.normal(0, 0.08, N)
    loss += zero if rises is None else rises
    for index, added in (by_arm or {}).items():
        loss[arms == index] += added[arms == index]
    held = learning(learned if held_learned is None else held_learned)
    held = (held + (zero if held_rises is None else held_rises))[AUDIT - 1]
    val_losses = {
        name: held + level + chance.normal(0, 0.01, len(AUDIT))
        for name, level in zip(ARMS, LEVELS, strict=True)
    }
    score = 75 - 45 * np.exp(-AUDIT / 600) + chance.normal(0, 2.5, len(AUDIT))
    score -= (zero if score_falls is None else score_falls)[AUDIT - 1]
    evidence = Evidence(
        step=np.arange(1, N + 1),
        loss=loss,
        grad_norm=0.4 * np.exp(chance.normal(0, 0.3, N)),
        ms=1000 * np.exp(chance.normal(0, 0.03, N)),
        tokens=np.full(N, 4096.0),
        arm=arms,
        arms=ARMS,
        max_grad_norm=1.0,
        audit_step=AUDIT,
        score=score,
        val_loss=np.mean(list(val_losses.values()), axis=0),
        val_losses=val_losses,
    )
    return replace(evidence, **columns)


def first(evidence: Evidence, n: int) -> Evidence:
    """The first n records of a run that tells all columns, and the audits up to them."""
    audits = int(np.searchsorted(evidence.audit_step, evidence.step[n - 1], side="right"))
    return replace(
        evidence,
        step=evidence.step[:n],
        loss=evidence.loss[:n],
        grad_norm=evidence.grad_norm[:n],
        ms=evidence.ms[:n],
        tokens=evidence.tokens[:n],
        arm=evidence.arm[:n],
        audit_step=evidence.audit_step[:audits],
        score=evidence.score[:audits],
        val_loss=evidence.val_loss[:audits],
        val_losses={name: held[:audits] for name, held in evidence.val_losses.items()},
    )


def told(evidence: Evidence) -> list[tuple[str, str]]:
    """Kinds and series of all reasons, the first first."""
    return [(reason.kind, reason.series) for reason in judge(evidence).reasons]


def assert_first(health: Health, series: str, since: int, within: float = 0.02) -> None:
    """The first reason is of this series, from this step on (give or take a share of the run)."""
    assert health.verdict == "ill"
    assert health.reasons[0].series == series
    assert abs(health.reasons[0].since_step - since) <= within * N
