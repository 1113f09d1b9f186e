"""Seeded histories of runs, healthy ones and ones with a planted ill, as the judge takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from console.health.evidence import Evidence
from tests.benchmarks.simulated_run import Simulated

ILLS = (
    "spike",
    "divergence",
    "score",
    "plateau",
    "memorising",
    "source",
    "slow card",
    "clipping",
    "val_loss",
    "nothing learned",
)
AT_ONCE = {"spike", "plateau", "slow card", "clipping", "nothing learned", "source"}
"""The others creep."""


@dataclass(frozen=True, kw_only=True)
class History:
    """A run's record, and what is wrong with it."""

    evidence: Evidence
    ill: str = ""
    since_step: int = 0
    series: tuple[str, ...] = ()
    """What may be told first."""


def first_of(evidence: Evidence, n: int) -> Evidence:
    """The first n records, in the same memory, and the audits and starts up to them."""
    last = int(evidence.step[n - 1])
    audits = int(np.searchsorted(evidence.audit_step, last, side="right"))
    return replace(
        evidence,
        step=evidence.step[:n],
        loss=evidence.loss[:n],
        grad_norm=evidence.grad_norm[:n],
        ms=evidence.ms[:n],
        tokens=evidence.tokens[:n],
        arm=evidence.arm[:n],
        pivots=tuple(pivot for pivot in evidence.pivots if pivot <= last),
        restarts=tuple(restart for restart in evidence.restarts if restart <= last),
        audit_step=evidence.audit_step[:audits],
        score=evidence.score[:audits],
        val_loss=evidence.val_loss[:audits],
        val_losses={name: held[:audits] for name, held in evidence.val_losses.items()},
    )


def history(seed: int, ill: str = "", n: int | None = None) -> History:
    """Of `n` steps (10,000 to 40,000 if not given); the same for the same arguments."""
    chance = np.random.default_rng([seed, len(ill), *ill.encode()])
    run = Simulated(chance=chance, n=n or int(chance.choice([10_000, 20_000, 40_000])))
    since, series = PLANT[ill](run) if ill else (0, ())
    return History(evidence=run.evidence(), ill=ill, since_step=since, series=series)


def spike(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.n - int(run.chance.integers(8, 60))
    run.rises += run.chance.uniform(0.8, 3) * run.ramp(since - 1, 1)
    run.norm_factor *= 1 + 5 * run.ramp(since - 1, 1)
    return since, ("loss",)


def divergence(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.3, 0.9)
    rise = run.chance.uniform(0.3, 2.0) * run.ramp(
        since, int(run.chance.uniform(0, 1) * (run.n - since))
    )
    run.learned = run.held_learned = np.minimum(run.t, since)
    by_arm = rise * run.chance.uniform(0.8, 1.2, (run.n_arms, 1))
    run.rises += by_arm
    run.held_rises += by_arm
    run.score_falls += 20 * rise
    run.norm_factor *= 1 + rise
    return since, ("loss",)


def decay(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.3, 0.85)
    length = int(run.chance.uniform(0.3, 1.0) * (run.n - since))
    run.score_learned = np.minimum(run.t, since)
    run.score_falls += run.chance.uniform(18, 45) * run.ramp(since, length)
    return since, ("score",)


def plateau(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.12, 0.4)
    run.learned = run.held_learned = np.minimum(run.t, since)
    return since, ("loss",)


def memorising(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.3, 0.85)
    ramp = run.ramp(since, int(run.chance.uniform(0.5, 1.0) * (run.n - since)))
    run.held_learned = np.minimum(run.t, since)
    run.rises -= run.chance.uniform(0.1, 0.6) * ramp
    run.held_rises += run.chance.uniform(0.1, 0.6) * ramp
    return since, ("val_loss", "train–val gap")


def source(run: Simulated) -> tuple[int, tuple[str, ...]]:
    run_arms = run.n_arms
    bad = int(run.chance.integers(run_arms))
    since = run.since(0.3, 0.9)
    rise = run.chance.uniform(0.6, 2.0) * run.ramp(since, 1)
    run.rises[bad] += rise
    run.held_rises[bad] += rise * run.chance.uniform(0, 0.5)
    told = f"loss of {run.names[bad]}"
    return since, (told,) if run_arms > 1 else (told, "loss")


def slow_card(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.2, 0.95)
    run.slower *= 1 + run.chance.uniform(0.35, 2.0) * run.ramp(since, 1)
    return since, ("step time",)


def clipping(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.3, 0.92)
    run.norm_level = run.limit * float(run.chance.choice([0.15, 0.3, 0.5]))
    run.norm_factor *= 1 + run.ramp(since, 1) * (4 * run.limit / run.norm_level - 1)
    return since, ("clipping",)


def val_loss(run: Simulated) -> tuple[int, tuple[str, ...]]:
    since = run.since(0.3, 0.85)
    length = int(run.chance.uniform(0.3, 1.0) * (run.n - since))
    run.held_learned = np.minimum(run.t, since)
    run.held_rises += run.chance.uniform(0.2, 0.8) * run.ramp(since, length)
    return since, ("val_loss", "train–val gap")


def nothing_learned(run: Simulated) -> tuple[int, tuple[str, ...]]:
    run.has_learned = False
    return 1, ("loss",)


PLANT = {
    "spike": spike,
    "divergence": divergence,
    "score": decay,
    "plateau": plateau,
    "memorising": memorising,
    "source": source,
    "slow card": slow_card,
    "clipping": clipping,
    "val_loss": val_loss,
    "nothing learned": nothing_learned,
}
