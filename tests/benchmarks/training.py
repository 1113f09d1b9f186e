"""Training: against nanoGPT's model, the five dearest operations, what surrounds the engine."""

import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from torch.profiler import profile

import trainer.loop
from tests.benchmarks.day23 import ARMS, loss_record
from tests.benchmarks.engines import Rows, batches, make_engine, nanogpt_step, preset_settings
from tests.benchmarks.measure import Times, duration, show, side_by_side
from trainer.cli import start
from trainer.engine.engine import Engine
from trainer.loop import Training
from trainer.persistence.loss_history import LossHistory
from trainer.persistence.reporter import Reporter
from trainer.proxy.bandit import Bandit
from trainer.proxy.batches import rows_given
from trainer.proxy.feed import require_told
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import without_collector
from trainer.rundir.records.record_lines import encode_record
from trainer.rundir.state import State
from trainer.signals import Signals

SHAPES = (("demo", 8, 40), ("andrea-12m", 2, 4))
"""Preset, rows a step, repeats."""
WHOLE_STEPS = 200
RECORDS = 200_000


def training(options: Namespace) -> None:
    """Steps side by side with nanoGPT's, without anything around the engine."""
    rows = []
    for preset, n_rows, repeats in SHAPES:
        settings = preset_settings(preset, rows=n_rows)
        engine, batch = make_engine(settings), batches(settings)
        calls: dict[str, Callable[[], object]] = {"andrea": partial(step, engine.train_step, batch)}
        if options.nanogpt:
            peer = nanogpt_step(options.nanogpt, settings)
            calls["nanoGPT"] = partial(step, peer, batch)
        for call in calls.values():
            call()
        times = side_by_side(calls, repeats)
        n_tokens = settings.train.batch_tokens
        for name, taken in times.items():
            ratio = taken.median / times["andrea"].median
            floor = 6 * n_tokens * matrix_parameters(engine) / 1e9
            row = [preset, name, *taken.cells(), f"{n_tokens / taken.median:,.0f}", f"{ratio:.3f}"]
            rows.append([*row, f"{floor:.1f} GFLOP"])
        show_dearest(engine, batch, preset)
    header = ["preset", "what", "median", "least", "most", "tokens/s", "time ÷ ours", "floor"]
    show(f"Step, {torch.get_num_threads()} threads", header, rows)


def shares(options: Namespace) -> None:
    """16 micro-batches added up in 8 shares, against one after the other: on one rank."""
    rows = []
    for preset, n_rows in (("demo", 2),):
        settings = preset_settings(preset, rows=n_rows)
        batch_tokens = 16 * settings.train.batch_tokens
        plain = replace(settings, train=replace(settings.train, batch_tokens=batch_tokens))
        shared = replace(plain, train=replace(plain.train, shares=8))
        engines = {"16 micro-batches": make_engine(plain), "8 shares": make_engine(shared)}
        calls: dict[str, Callable[[], object]] = {
            name: partial(step, engine.train_step, batches(plain))
            for name, engine in engines.items()
        }
        for call in calls.values():
            call()
        times = side_by_side(calls, options.repeats)
        for name, taken in times.items():
            ratio = taken.median / times["16 micro-batches"].median
            rows.append([preset, name, *taken.cells(), f"{ratio:.3f}"])
    header = ["preset", "what", "median", "least", "most", "time ÷ plain (≤ 1.02)"]
    show("Shares on one rank", header, rows)


def whole(options: Namespace) -> None:
    """Demo with cadence, audits and sidecars on, in turn with nanoGPT's bare steps."""
    settings = preset_settings("demo", rows=8)
    ours, peers = Times(), Times()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        run, _ = ensure_run(Path(directory) / "run", preset="demo")
        peer = nanogpt_step(options.nanogpt, settings) if options.nanogpt else None
        batch = batches(settings)
        for turn in range(1, options.repeats + 1):
            ours.seconds.append(train_until(run, turn * WHOLE_STEPS))
            if peer is not None:
                peers.take(lambda: [peer(batch()) for _ in range(WHOLE_STEPS)])
    rows = [["andrea, all of it", *ours.cells(), f"{WHOLE_STEPS / ours.median:.2f}", ""]]
    if peers.seconds:
        ratio = f"{peers.median / ours.median:.3f}"
        rows.append(["nanoGPT, bare", *peers.cells(), f"{WHOLE_STEPS / peers.median:.2f}", ratio])
    header = ["what", "median", "least", "most", "steps/s", "time ÷ ours (≥ 1.05)"]
    show(f"{WHOLE_STEPS} steps of demo, a checkpoint and an audit every 100", header, rows)


def train_until(run: RunDirectory, last_step: int) -> float:
    """Seconds from the first step's beginning to the end of the last checkpoint's audit."""
    began: list[float] = []
    real_step = trainer.loop.take_step

    def noted_step(training: Training) -> None:
        began.append(time.perf_counter())
        real_step(training)

    with patch("trainer.loop.take_step", noted_step):
        start(run, None, Reporter(run.state, State()), Signals(), until=last_step)
    return time.perf_counter() - began[0]


def step(take: Callable[[Rows], object], batch: Callable[[], Rows]) -> None:
    """A step on the next batch."""
    take(batch())


def matrix_parameters(engine: Engine) -> int:
    """Parameters that a token is multiplied with: all but the embeddings."""
    model = engine.model
    embeddings = model.token_embedding.numel() + model.position_embedding.numel()
    return engine.parameters.n_params - embeddings


def show_dearest(engine: Engine, batch: Callable[[], Rows], preset: str) -> None:
    """The five operations that take most of a step's own time."""
    with profile() as profiled:
        for _ in range(3):
            engine.train_step(batch())
    events = sorted(profiled.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    rows = [
        [event.key[:60], f"{event.self_cpu_time_total / total:.1%}", f"{event.count // 3}"]
        for event in events[:5]
    ]
    show(f"Dearest operations, {preset}", ["operation", "share of the step", "calls a step"], rows)


def audit(options: Namespace) -> None:
    """420 sampled tokens against as many single-token forwards with the cache half full."""
    rows = []
    for preset in ("demo", "andrea-12m"):
        engine = make_engine(preset_settings(preset, rows=1))
        calls: dict[str, Callable[[], object]] = {
            "forwards": partial(single_forwards, engine, 420),
            "sample": partial(engine.sample, [0], 420, seed=1, temperature=0.8),
        }
        times = side_by_side(calls, options.repeats)
        forwards, sample = times["forwards"].median, times["sample"].median
        rows.append([preset, duration(forwards), duration(sample), f"{sample / forwards:.2f}"])
    show("Audit", ["preset", "420 forwards", "420 sampled tokens", "ratio (≤ 1.10)"], rows)


@torch.inference_mode()
def single_forwards(engine: Engine, n_tokens: int) -> None:
    """Forwards of one token each."""
    past = engine.model.empty_past()
    half = engine.model.context // 2
    engine.model.extend(torch.ones(1, half, dtype=torch.long), past)
    for _ in range(n_tokens):
        engine.model.extend(torch.tensor([[1]]), past)
        for layer in past:
            layer.n_tokens = half


def around(options: Namespace) -> None:
    """A real demo run: what bandit, batches, records and state cost beside the engine."""
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        run, _ = ensure_run(Path(directory) / "run", preset="demo")
        limit(run, total_steps=300)
        steps, updates = Times(), Times()
        started = time.perf_counter()
        train_measured(run, steps, updates)
        rows = [
            ["step, all of it", *steps.cells()],
            ["the engine's part", *updates.cells()],
            ["around it", duration(steps.median - updates.median), "", ""],
        ]
        share = 1 - sum(updates.seconds) / sum(steps.seconds)
        rows.append(["share of a step (≤ 1 %)", f"{share:.2%}", "", ""])
        rows.append(
            ["whole run with start, 3 audits", duration(time.perf_counter() - started), "", ""]
        )
    show("Around the engine, demo", ["what", "median", "least", "most"], rows)


def limit(run: RunDirectory, *, total_steps: int) -> None:
    """Let the run end after so many steps."""
    text = run.settings.read_text().replace("total_steps = 2000", f"total_steps = {total_steps}")
    run.settings.write_text(text)


def train_measured(run: RunDirectory, steps: Times, updates: Times) -> None:
    """Train in this process; each step's time, and the engine's share of it."""
    real_step, real_update = trainer.loop.take_step, Engine.train_step

    def measured_step(training: Training) -> None:
        steps.take(lambda: real_step(training))

    def measured_update(engine: Engine, rows: object) -> object:
        results: list[object] = []
        updates.take(lambda: results.append(real_update(engine, rows)))  # type: ignore[arg-type]
        return results[0]

    trainer.loop.take_step = measured_step
    Engine.train_step = measured_update  # type: ignore[method-assign,assignment]
    try:
        start(run, None, Reporter(run.state, State()), Signals())
    finally:
        trainer.loop.take_step = real_step
        Engine.train_step = real_update  # type: ignore[method-assign]


def history_start(options: Namespace) -> None:
    """What folding 200,000 records adds to a start."""
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / ".loss.json"
        write_history(path)
        times = {name: Times() for name in ("open", "check", "fold the bandit", "count the rows")}
        for _ in range(options.repeats):
            with without_collector():  # as in a start
                fold_once(path, times)
        rows = [[name, *taken.cells()] for name, taken in times.items()]
        total = sum(taken.median for taken in times.values())
        rows.append(["together (≤ 0.5 s)", duration(total), "", ""])
    show("Start at step 200,000, beyond a start at 0", ["what", "median", "least", "most"], rows)


def write_history(path: Path) -> None:
    """The records of 200,000 steps."""
    records = (loss_record(step, RECORDS, 0.0) for step in range(1, RECORDS + 1))
    path.write_bytes(b"[\n" + b",\n".join(map(encode_record, records)) + b"\n]\n")


def fold_once(path: Path, times: dict[str, Times]) -> None:
    """What a start does with the history."""
    opened: list[LossHistory] = []
    times["open"].take(lambda: opened.append(LossHistory(path, RECORDS)))
    past = list(opened[0].past())
    opened[0].close()
    times["check"].take(lambda: require_told(path, past))
    bandit = Bandit(seed=1, phase=5, available=ARMS, policy={})
    times["fold the bandit"].take(lambda: bandit.fold(past))
    times["count the rows"].take(lambda: rows_given(past, context=1024))
