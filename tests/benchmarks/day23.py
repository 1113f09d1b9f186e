"""A run directory as it is on day 23: `python -m tests.benchmarks.day23 PATH [--records N]`.

200,000 loss records, a checkpoint with its audit every 100 steps (sparse files of the real
size), a source of text for each arm (its tokens sparse, too), four pivots with their archives,
restarts, a log. No trainer runs on it.

Two things happened to it: at step 61,300 the loss rose by four and came back within a hundred
steps; from step 120,000 on the score of its samples decays, from 75 to 37, while the loss looks
as before. In a run of another length they lie at the same shares of it.
"""

import argparse
import hashlib
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from trainer.persistence.loss_history import EMA_DECAY
from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes, checkpoint_name
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.sources.documents import look_at_files
from trainer.rundir.sources.prepared import TokenIndex, token_folder, write_index
from trainer.rundir.state import ArmState, Save, State, write_state

EVERY = 100
CHECKPOINTS = 2000
PIVOTS = 4
STEP_SECONDS = 10.0
TOKENS = {
    "books": 5_200_000_000,
    "stdlib-code": 31_000_000,
    "stdlib-docs": 18_000_000,
    "web": 42_000_000_000,
    "wiki": 4_100_000_000,
}
"""Of each source."""
ARMS = tuple(TOKENS)
_WORDS = """
the of and to in that is was he for it with as his on be at by had not are but from or have an
they which one you were her all she there would their we him been has when who will more no if
out so said what up its about into than them can only other new some could time these two may
then do first any my now such like our over man me even most made after also did many before
must through back years where much your way well down should because each just those people how
too little state good very make world still own see men work long get here between both life
being under never day same another know while last might us great old year off come since
against go came right used take
"""
REGION = "the region of the"
"""What a worn model falls back to."""
SPIKE_HEIGHT, SPIKE_KEPT = 4.0, 0.94
"""Of the loss, nats; and the share of it that is left after each further step."""
HEALTHY, WORN = (26.0, 28.0, 14.0, 7.0), (8.0, 10.0, 13.0, 6.0)
"""The score's four parts, together 75 and 37."""


def make_run(path: Path, records: int = 200_000) -> RunDirectory:
    """Make it; takes about ten seconds for 200,000 records. The directory must be new."""
    run, _ = ensure_run(path, preset="andrea-120m", sources=_write_texts(path))
    newest = time.time()
    started = newest - records * STEP_SECONDS
    with run.loss.open("wb") as file:
        file.write(b"[")
        for step in range(1, records + 1):
            lead = b"\n" if step == 1 else b",\n"
            file.write(lead + orjson.dumps(loss_record(step, records, started)))
        file.write(b"\n]\n")
    _write_tokens(run)
    _write_checkpoints(run, records, started)
    _write_state(run, records)
    run.log.write_text("".join(f"step {step:,}: loss 2.8\n" for step in range(1, 5000)))
    return run


def phase_of(step: int, records: int) -> int:
    """The phase, when the pivots lie at equal distances."""
    return 1 + (step - 1) * (PIVOTS + 1) // records


def spike_at(records: int) -> int:
    """The step of the loss spike: 61,300 of 200,000."""
    return records * 613 // 2000


def decays_from(records: int) -> int:
    """The step from which on the score decays: 120,000 of 200,000."""
    return records * 3 // 5


def loss_record(step: int, records: int, started: float) -> dict[str, Any]:
    smooth = 2.7 + 7.2 * math.exp(-((step / 900.0) ** 0.42))
    spike, spike_mean = _spike(step - spike_at(records))
    chance = random.Random(step)
    return {
        "step": step,
        "attempt": 1 + (step - 1) * 9 // records,
        "phase": phase_of(step, records),
        "arm": ARMS[step % len(ARMS)],
        "loss": smooth + chance.gauss(0.0, 0.09) + spike,
        "ema": smooth + spike_mean,
        "lr": 1.65e-4 + 1.35e-4 * math.cos(math.pi * step / (2 * records)),
        "grad_norm": 0.3 + chance.random() / 10 + 2.5 * spike,
        "reward": chance.random(),
        "tokens": 524_288,
        "ms": STEP_SECONDS * 1000 + round(chance.random(), 3),
        "t": started + step * STEP_SECONDS,
    }


def _spike(since: int) -> tuple[float, float]:
    """What the loss, and its EMA, are higher by so many steps after the spike began."""
    if since < 0:
        return 0.0, 0.0
    kept, decay = SPIKE_KEPT ** (since + 1), EMA_DECAY ** (since + 1)
    mean = SPIKE_HEIGHT * (1 - EMA_DECAY) * (decay - kept) / (EMA_DECAY - SPIKE_KEPT)
    return SPIKE_HEIGHT * SPIKE_KEPT**since, mean


def _steps_of_checkpoints(records: int) -> Iterator[int]:
    first = max(EVERY, records - (CHECKPOINTS - 1) * EVERY)
    yield from range(first, records + 1, EVERY)


def _write_texts(path: Path) -> dict[str, str]:
    """A file for each source beside the run; path by name."""
    folder = path.with_name(f"{path.name}-text")
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOKENS:
        (folder / f"{name}.txt").write_text(f"The text of {name}.\n")
    return {name: str(folder / f"{name}.txt") for name in TOKENS}


def _write_tokens(run: RunDirectory) -> None:
    for name, source in load_settings(run.settings).sources.items():
        folder = token_folder(run.tokens, name)
        folder.mkdir(parents=True)
        held_out = TOKENS[name] // 100
        index = TokenIndex(
            stamp="",
            tokenizer="0" * 64,
            dtype="<u2",
            fingerprint=hashlib.sha256(name.encode()).hexdigest(),
            documents=TOKENS[name] // 800,
            held_out_documents=TOKENS[name] // 80_000,
            train_tokens=TOKENS[name] - held_out,
            held_out_tokens=held_out,
            text_bytes=TOKENS[name] * 4,
        )
        for file, tokens in zip(index.file_names, (index.train_tokens, held_out), strict=True):
            (folder / file).touch()
            os.truncate(folder / file, 2 * tokens)
        write_index(folder, index, look_at_files(source, run.path))


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
        audit = audit_record(step, records)
        told = {"checkpoint": path.name, "bytes": path.stat().st_size, "t": written}
        audits.setdefault(phase, []).append({**audit, **told})
    for phase, found in audits.items():
        folder = run.path if phase == PIVOTS + 1 else run.phase_archive(phase)
        folder.mkdir(parents=True, exist_ok=True)
        lines = b",\n".join(orjson.dumps(audit) for audit in found)
        (folder / run.samples.name).write_bytes(b"[\n" + lines + b"\n]\n")
        if folder != run.path:
            (folder / run.settings.name).write_bytes(run.settings.read_bytes())


def audit_record(step: int, records: int) -> dict[str, Any]:
    """An audit but for what its file tells."""
    chance = random.Random(step)
    grown = 1 - 0.45 * math.exp(-step / (0.04 * records))
    start = decays_from(records)
    worn = -math.expm1(-6.0 * max(0.0, (step - start) / (records - start)))
    spreads = (1.6, 1.6, 0.6, 0.3)
    bigrams, trigrams, english, characters = (
        grown * (healthy + worn * (low - healthy)) + chance.gauss(0.0, spread)
        for healthy, low, spread in zip(HEALTHY, WORN, spreads, strict=True)
    )
    smooth = 2.75 + 7.2 * math.exp(-((step / 900.0) ** 0.42))
    losses = {arm: smooth + index / 20 + chance.gauss(0.0, 0.01) for index, arm in enumerate(ARMS)}
    return {
        "step": step,
        "cause": "cadence",
        "phase": phase_of(step, records),
        "prompt": "",
        "text": _text(chance, 0.75 * worn),
        "tokens": 420,
        "score": bigrams + trigrams + english + characters,
        "bigram_diversity": bigrams,
        "trigram_diversity": trigrams,
        "english_words": english,
        "character_diversity": characters,
        "val_loss": sum(losses.values()) / len(losses),
        "val_losses": losses,
        "ms": 6400.0,
        "sha256": f"{chance.getrandbits(256):064x}",
    }


def _text(chance: random.Random, repeated: float) -> str:
    """A sample of some 350 words, a share `repeated` of them in one and the same phrase."""
    words = _WORDS.split()
    said = [
        REGION if chance.random() < repeated else " ".join(chance.choices(words, k=4))
        for _ in range(88)
    ]
    return " ".join(said)


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
