"""What only a GPU can show, in eight minutes: `python -m tests.gpu.check [--json FILE]`.

At andrea-120m's real batch: the same steps twice give the same bits, in fp16 and bf16; a resumed
run gives those of one that never stopped, and two GPUs those of one, where there are two; how long
a save stands in the way; tokens a second and MFU with and without compile and determinism.
`--dry` runs all of it but two GPUs at toy size on the CPU.
Exits 1 if bits differ, or there was no time to compare them.
"""

import argparse
import gc
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson
import torch

from tests.benchmarks.engines import Rows, batches, make_engine, preset_settings
from tests.benchmarks.measure import Times, duration, machine, show
from tests.forked_ranks import make_ranks_run, set_in
from tests.tiny import start_trainer
from trainer.engine.engine import Engine
from trainer.engine.parameters import as_memoryview
from trainer.persistence.background_save import Saver
from trainer.rundir.checkpoints.checkpoint import Checkpoint, inspect_checkpoint
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit

PEAK_TFLOPS = {"4090": 165.0, "A100": 312.0, "H100": 989.0, "H200": 989.0}
"""Dense fp16 with float32 sums, from the makers' data sheets."""


@dataclass(slots=True)
class Findings:
    """What was found; written as JSON."""

    machine: str
    device: str
    settings: dict[str, Any]
    is_exact: dict[str, bool] = field(default_factory=dict)
    save_seconds: dict[str, float] = field(default_factory=dict)
    speed: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """For want of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The size of the check."""

    device: str
    precisions: tuple[str, ...]
    rows: int
    """A step's."""
    micro_batch: int
    preset: str
    peak_tflops: float | None
    deadline: float
    """By `perf_counter`."""

    def settings(self, precision: str, **train: Any) -> Settings:
        return preset_settings(
            self.preset,
            rows=self.rows,
            device=self.device,
            precision=precision,
            micro_batch=self.micro_batch,
            **train,
        )


def check(plan: Plan) -> Findings:
    """Everything, the most important first; what the deadline leaves no time for is named."""
    settings = plan.settings(plan.precisions[0])
    findings = Findings(
        machine=machine(),
        device=torch.cuda.get_device_name() if plan.device == "cuda" else "cpu",
        settings=asdict(settings.model) | asdict(settings.train),
    )
    for name, run in _parts(plan, findings):
        if perf_counter() > plan.deadline:
            findings.left_out.append(name)
        else:
            run()
            _release()
    return findings


def _parts(plan: Plan, findings: Findings) -> Iterator[tuple[str, Callable[[], None]]]:
    for precision in plan.precisions:
        yield f"bits, {precision}", partial(check_bits, plan, precision, findings)
    if torch.cuda.device_count() > 1 and plan.device == "cuda":
        for precision in plan.precisions:
            yield f"bits of two ranks, {precision}", partial(check_ranks, precision, findings)
    yield "a save's stall", partial(measure_save, plan, findings)
    for precision in plan.precisions:
        for is_compiled, is_exact in ((False, True), (False, False), (True, True), (True, False)):
            name = f"{precision}{', compiled' * is_compiled}{', deterministic' * is_exact}"
            settings = plan.settings(precision, compile=is_compiled, deterministic=is_exact)
            yield name, partial(measure_speed, plan, name, settings, findings)


def check_bits(plan: Plan, precision: str, findings: Findings) -> None:
    """Three steps straight, three again, and two with a checkpoint, a new engine, one more."""
    settings = plan.settings(precision)
    straight = _trained(settings, 3)
    again = _trained(settings, 3)
    with tempfile.TemporaryDirectory() as directory:
        _save(_engine_after(settings, 2), Path(directory), 2)
        resumed = make_engine(settings)
        resumed.resume(_checkpoint(Path(directory), 2, resumed))
        batch = batches(settings)
        rows = [batch() for _ in range(3)]
        resumed.train_step(rows[2])
        digest = _digest(resumed)
    findings.is_exact[f"{precision}: the same steps again"] = straight == again
    findings.is_exact[f"{precision}: resumed after two of three"] = straight == digest


def check_ranks(precision: str, findings: Findings) -> None:
    """A tiny run by one GPU and by two, over NCCL: the same checkpoint."""
    with tempfile.TemporaryDirectory() as directory:
        is_same = is_same_by_ranks(
            Path(directory), lambda run: start_trainer(run).wait(), "cuda", precision
        )
    findings.is_exact[f"one rank and two, {precision}"] = is_same


def is_same_by_ranks(
    directory: Path, train: Callable[[RunDirectory], int], device: str, precision: str
) -> bool:
    """Whether 1 and 2 ranks write the same last checkpoint. `train`: to its end; the exit code."""
    written = []
    for size in (1, 2):
        run = make_ranks_run(directory / f"{size}", ranks=size)
        set_in(run, device=f'"{device}"', precision=f'"{precision}"')
        if train(run) != Exit.FINISHED:
            raise RuntimeError(run.log.read_text())
        written.append((run.path / "step_000016.bin").read_bytes())
    return written[0] == written[1]


def _trained(settings: Settings, n_steps: int) -> str:
    return _digest(_engine_after(settings, n_steps))


def _engine_after(settings: Settings, n_steps: int) -> Engine:
    engine, batch = make_engine(settings), batches(settings)
    for _ in range(n_steps):
        if not engine.train_step(batch()).is_finite:
            raise ArithmeticError("a step was not finite")
    return engine


def _digest(engine: Engine) -> str:
    digest = hashlib.sha256()
    for array in engine.parameters.host_arrays():
        digest.update(as_memoryview(array))
    return digest.hexdigest()


def _save(engine: Engine, directory: Path, step: int) -> None:
    saver = Saver(directory, engine.parameters, lambda: None)
    saver.begin(step)
    saver.collect()
    saver.close()


def _checkpoint(directory: Path, step: int, engine: Engine) -> Checkpoint:
    path = directory / f"step_{step:06d}.bin"
    found = inspect_checkpoint(path, step, engine.parameters.n_params)
    assert isinstance(found, Checkpoint)
    return found


def measure_save(plan: Plan, findings: Findings) -> None:
    """What of a save the loop feels, against a plain copy of the state to the host."""
    settings = plan.settings(plan.precisions[-1])
    engine, batch = make_engine(settings), batches(settings)
    alone, beside, wait, copy = Times(), Times(), Times(), Times()
    with tempfile.TemporaryDirectory() as directory:
        saver = Saver(Path(directory), engine.parameters, lambda: None)
        for number in range(1, 4):
            _step(engine, batch, alone)
            copy.take(lambda: [array.clone() for array in engine.parameters.host_arrays()])
            engine.before_update = partial(wait.take, saver.before_update)
            wait.take(partial(saver.begin, number))
            _step(engine, batch, beside)
            engine.before_update = lambda: None
            saver.collect().path.unlink()
        saver.close()
    findings.save_seconds = {
        "step": alone.median,
        "step beside a save": beside.median,
        "longest wait of the loop": max(wait.seconds[2:]),  # the first makes the pinned buffers
        "plain copy to the host": copy.median,
    }


def measure_speed(plan: Plan, name: str, settings: Settings, findings: Findings) -> None:
    """Tokens a second over two steps after one to warm up; MFU as in PaLM (Chowdhery 2022)."""
    torch.use_deterministic_algorithms(settings.train.deterministic)
    engine, batch = make_engine(settings), batches(settings)
    engine.train_step(batch())
    times = Times()
    for _ in range(2):
        _step(engine, batch, times)
    rate = settings.train.batch_tokens / times.least
    flops = rate * flops_per_token(settings)
    peak = plan.peak_tflops
    findings.speed.append(
        {
            "what": name,
            "tokens_per_second": rate,
            "mfu": None if peak is None else flops / (peak * 1e12),
            "tflops": flops / 1e12,
        }
    )


def flops_per_token(settings: Settings) -> float:
    """6 for each parameter of a matrix product, 12 · layers · width · context for attention."""
    model = settings.model
    n_embedding = (model.vocab_size + model.context) * model.width
    attention = 12 * model.layers * model.width * model.context
    return 6 * (model.n_params - n_embedding) + attention


def _step(engine: Engine, batch: Callable[[], Rows], times: Times) -> None:
    rows = batch()
    times.take(lambda: engine.train_step(rows))  # ends with the loss on the host


def _release() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def report(findings: Findings) -> None:
    """Tables of the findings."""
    print(f"{findings.machine}\n{findings.device}")
    words = {True: "equal", False: "DIFFERENT"}
    show("Bits", ["what", "found"], [[k, words[v]] for k, v in findings.is_exact.items()])
    saves = [[what, duration(seconds)] for what, seconds in findings.save_seconds.items()]
    show("A save", ["what", "time"], saves)
    speeds = [
        [
            speed["what"],
            f"{speed['tokens_per_second']:,.0f}",
            f"{speed['tflops']:.2f}",
            "unknown" if speed["mfu"] is None else f"{speed['mfu']:.1%}",
        ]
        for speed in findings.speed
    ]
    show("Speed", ["what", "tokens/s", "TFLOPS", "MFU"], speeds)
    if findings.left_out:
        print(f"\nleft out for want of time: {'; '.join(findings.left_out)}")


def make_plan(options: argparse.Namespace) -> Plan:
    """The real batch of andrea-120m on CUDA, or a toy on the CPU."""
    deadline = perf_counter() + options.seconds
    if options.dry:
        return Plan(
            device="cpu",
            precisions=("fp32",),
            rows=4,
            micro_batch=2,
            preset="demo",
            peak_tflops=1.0,
            deadline=deadline,
        )
    name = torch.cuda.get_device_name()
    known = (peak for part, peak in PEAK_TFLOPS.items() if part in name)
    return Plan(
        device="cuda",
        precisions=("fp16", "bf16"),
        rows=524_288 // 1024,
        micro_batch=options.micro_batch,
        preset="andrea-120m",
        peak_tflops=options.peak_tflops or next(known, None),
        deadline=deadline,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.check", description=__doc__)
    parser.add_argument("--dry", action="store_true", help="toy size, on the CPU")
    parser.add_argument("--json", type=Path, help="write the findings there too")
    parser.add_argument("--seconds", type=float, default=420.0, help="begin nothing after this")
    parser.add_argument("--micro-batch", type=int, default=16, help="rows of a pass")
    parser.add_argument("--peak-tflops", type=float, help="of the device, for MFU")
    options = parser.parse_args(arguments)
    if not options.dry and not torch.cuda.is_available():
        parser.error("no CUDA device; --dry runs at toy size on the CPU")
    findings = check(make_plan(options))
    report(findings)
    if options.json:
        options.json.write_bytes(orjson.dumps(findings, option=orjson.OPT_INDENT_2))
    is_proven = not any(name.startswith("bits") for name in findings.left_out)
    return 0 if is_proven and all(findings.is_exact.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
