"""A run directory as it is on day 23: `python -m tests.benchmarks.day23 PATH [--records N]`.

200,000 loss records, a checkpoint with its audit every 100 steps (sparse files of the real
size), four pivots with their archives, restarts, a log. No trainer runs on it.
"""

import argparse
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes, checkpoint_name
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import ArmState, Save, State, write_state

EVERY = 100
CHECKPOINTS = 2000
PIVOTS = 4
STEP_SECONDS = 10.0
ARMS = ("books", "stdlib-code", "stdlib-docs", "web", "wiki")
WORDS = ("the", "line", "of", "a", "text", "that", "is", "read", "by", "one", "and", "then", "kept")


def make_run(path: Path, records: int = 200_000) -> RunDirectory:
    """Make it; takes about ten seconds for 200,000 records. The directory must be new."""
    run, _ = ensure_run(path, preset="andrea-120m")
    newest = time.time()
    started = newest - records * STEP_SECONDS
    with run.loss.open("wb") as file:
        file.write(b"[")
        for step in range(1, records + 1):
            lead = b"\n" if step == 1 else b",\n"
            file.write(lead + orjson.dumps(loss_record(step, records, started)))
        file.write(b"\n]\n")
    _write_checkpoints(run, records, started)
    _write_state(run, records)
    run.log.write_text("".join(f"step {step:,}: loss 2.8\n" for step in range(1, 5000)))
    return run


def phase_of(step: int, records: int) -> int:
    """The phase, when the pivots lie at equal distances."""
    return 1 + (step - 1) * (PIVOTS + 1) // records


def loss_record(step: int, records: int, started: float) -> dict[str, Any]:
    smooth = 2.7 + 7.2 * math.exp(-((step / 900.0) ** 0.42))
    chance = random.Random(step)
    return {
        "step": step,
        "attempt": 1 + (step - 1) * 9 // records,
        "phase": phase_of(step, records),
        "arm": ARMS[step % len(ARMS)],
        "loss": smooth + chance.gauss(0.0, 0.09),
        "ema": smooth,
        "lr": 3e-4 * step / records,
        "grad_norm": 0.3 + chance.random() / 10,
        "reward": chance.random(),
        "tokens": 524_288,
        "ms": STEP_SECONDS * 1000 + round(chance.random(), 3),
        "t": started + step * STEP_SECONDS,
    }


def _steps_of_checkpoints(records: int) -> Iterator[int]:
    first = max(EVERY, records - (CHECKPOINTS - 1) * EVERY)
    yield from range(first, records + 1, EVERY)


def _write_checkpoints(run: RunDirectory, records: int, started: float) -> None:
    n_params = load_settings(run.settings).model.n_params
    audits: dict[int, list[dict[str, Any]]] = {}
    for step in _steps_of_checkpoints(records):
        path = run.path / checkpoint_name(step)
        path.write_bytes(step.to_bytes(4, "little") + n_params.to_bytes(4, "little"))
        os.truncate(path, checkpoint_bytes(n_params))
        written = started + step * STEP_SECONDS
        os.utime(path, (written, written))
        phase = phase_of(step, records)
        audits.setdefault(phase, []).append(_audit(step, phase, path, written))
    for phase, found in audits.items():
        folder = run.path if phase == PIVOTS + 1 else run.phase_archive(phase)
        folder.mkdir(parents=True, exist_ok=True)
        lines = b",\n".join(orjson.dumps(audit) for audit in found)
        (folder / run.samples.name).write_bytes(b"[\n" + lines + b"\n]\n")
        if folder != run.path:
            (folder / run.settings.name).write_bytes(run.settings.read_bytes())


def _audit(step: int, phase: int, path: Path, written: float) -> dict[str, Any]:
    chance = random.Random(step)
    parts = {
        "bigram_diversity": 20 + 10 * chance.random(),
        "trigram_diversity": 25 + 5 * chance.random(),
        "english_words": 8 + chance.random(),
        "character_diversity": 6 + chance.random(),
    }
    return {
        "step": step,
        "checkpoint": path.name,
        "cause": "cadence",
        "phase": phase,
        "prompt": "",
        "text": " ".join(chance.choices(WORDS, k=350)),
        "tokens": 420,
        "score": sum(parts.values()),
        **parts,
        "val_loss": 2.9 + chance.random() / 10,
        "val_losses": dict.fromkeys(ARMS, 2.9),
        "ms": 6400.0,
        "t": written,
        "bytes": path.stat().st_size,
        "sha256": f"{chance.getrandbits(256):064x}",
    }


def _write_state(run: RunDirectory, records: int) -> None:
    arm = ArmState(
        pulls=records // len(ARMS), ema_reward=0.4, weight=0.5, probability=1 / len(ARMS)
    )
    state = State(
        doing="stopped",
        t=time.time(),
        step=records,
        total_steps=2 * records,
        attempt=9,
        phase=PIVOTS + 1,
        phase_start_step=records * PIVOTS // (PIVOTS + 1),
        arms=dict.fromkeys(ARMS, arm),
        last_save=Save(step=records, cause="stop", ok=True, bytes=1_441_529_864, seconds=2.0),
        exit_code=143,
        reason="stopped by SIGTERM",
    )
    write_state(run.state, state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--records", type=int, default=200_000)
    options = parser.parse_args()
    make_run(options.path, options.records)


if __name__ == "__main__":
    main()
