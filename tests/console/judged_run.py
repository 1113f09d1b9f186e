"""Runs of 8,000 steps on disk whose records a judge has something to say of."""

from typing import Any

import numpy as np
import orjson

from console.health.evidence import Evidence
from tests.console.health import records
from trainer.rundir.layout import RunDirectory

BEGAN = 1_780_000_000.0
"""Wall clock, seconds, of the first step; each takes 10 s."""
FALLS_FROM = 4800
"""Where the score of an ill run begins to fall."""


def write_healthy(run: RunDirectory) -> None:
    """A history, and an audit every 40 steps."""
    _write(run, records.run())


def write_ill(run: RunDirectory) -> None:
    """The same with a score that falls."""
    _write(run, records.run(score_falls=records.after(FALLS_FROM, 38, 2000)))


def _write(run: RunDirectory, evidence: Evidence) -> None:
    run.loss.write_bytes(_array([_record(evidence, at) for at in range(len(evidence))]))
    n_audits = len(evidence.audit_step)
    run.samples.write_bytes(_array([_audit(evidence, at) for at in range(n_audits)]))


def _record(evidence: Evidence, at: int) -> dict[str, Any]:
    columns = {name: float(getattr(evidence, name)[at]) for name in ("loss", "grad_norm", "ms")}
    step = int(evidence.step[at])
    return {
        "step": step,
        "attempt": 1,
        "phase": 1,
        "arm": evidence.arms[evidence.arm[at]],
        "ema": columns["loss"],
        "lr": 1e-4,
        "reward": 0.1,
        "tokens": int(evidence.tokens[at]),
        "t": BEGAN + step * 10.0,
        **columns,
    }


def _audit(evidence: Evidence, at: int) -> dict[str, Any]:
    step = int(evidence.audit_step[at])
    return {
        "step": step,
        "checkpoint": f"step_{step:06d}.bin",
        "phase": 1,
        "score": float(np.clip(evidence.score[at], 0, 100)),
        "val_loss": float(evidence.val_loss[at]),
        "val_losses": {name: float(held[at]) for name, held in evidence.val_losses.items()},
        "t": BEGAN + step * 10.0,
    }


def _array(documents: list[dict[str, Any]]) -> bytes:
    return b"[\n" + b",\n".join(map(orjson.dumps, documents)) + b"\n]\n"
