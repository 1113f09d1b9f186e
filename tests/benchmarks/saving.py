"""Saving and resuming: the loop's wait, the disk's rate, peers, memory."""

import contextlib
import gc
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from tests.benchmarks.engines import batches, make_engine, preset_settings, state_settings
from tests.benchmarks.measure import Times, duration, show, side_by_side
from tests.benchmarks.pty_console import ROOT, n_descriptors
from trainer.engine.engine import Engine
from trainer.engine.parameters import as_memoryview
from trainer.persistence.background_save import Saver
from trainer.rundir.checkpoints.checkpoint import (
    Checkpoint,
    inspect_checkpoint,
    read_checkpoint_into,
)
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import load_records

STEP_TOKENS = 32
SIZES = {"480 MB": 40_000_000, "1.44 GB": 120_000_000}


def waiting(options: Namespace) -> None:
    """What a save costs the loop, against a plain copy of the same bytes in memory."""
    rows = []
    for name, n_params in SIZES.items():
        engine = make_engine(state_settings(n_params))
        rows += [[name, *row] for row in _waits(engine, options.directory)]
        del engine
        gc.collect()
    header = ["state", "what", "median", "least", "most", "÷ plain copy"]
    show("The loop and a save (≤ 0.1 × waiting, ≤ 1 × longer)", header, rows)


def _waits(engine: Engine, directory: Path) -> Iterator[list[str]]:
    times = {name: Times() for name in ("copy", "begin", "audited", "wait", "step", "beside")}
    copies = [torch.empty_like(engine.parameters.weights) for _ in range(3)]
    rows = np.random.default_rng(0).integers(0, 512, (1, STEP_TOKENS + 1))
    with saver_of(engine, directory) as saver:
        for turn in range(6):
            times["copy"].take(lambda: copy_state(engine, copies))
            times["step"].take(partial(engine.train_step, rows))
            times["begin"].take(partial(saver.begin, turn))
            while not saver.is_done:  # as an audit lets it
                time.sleep(0.01)
            times["audited"].take(saver.before_update)
            saver.collect().path.unlink()
            engine.before_update = partial(times["wait"].take, saver.before_update)
            saver.begin(turn)
            times["beside"].take(partial(engine.train_step, rows))
            engine.before_update = lambda: None
            saver.collect().path.unlink()
    plain = times["copy"].median
    longer = times["beside"].median - times["step"].median
    for name, key in (
        ("plain copy, into memory that is there", "copy"),
        ("wait: to begin", "begin"),
        ("wait: before the update, after an audit", "audited"),
        (f"wait: before the update, at once after {STEP_TOKENS} tokens", "wait"),
        ("step without a save", "step"),
        ("step beside a save", "beside"),
    ):
        yield [name, *times[key].cells(), f"{times[key].median / plain:.3f}"]
    yield ["step longer by", duration(max(longer, 0)), "", "", f"{longer / plain:.2f}"]
    for name, taken in _async_waits(engine, directory).items():
        yield [f"wait: {name}", *taken.cells(), f"{taken.median / plain:.3f}"]


def copy_state(engine: Engine, copies: list[torch.Tensor]) -> None:
    """Weights, m and v into memory that is there."""
    parameters = engine.parameters
    for copy, live in zip(copies, (parameters.weights, parameters.m, parameters.v), strict=True):
        copy.copy_(live)


@contextlib.contextmanager
def saver_of(engine: Engine, directory: Path) -> Iterator[Saver]:
    """The trainer's saver on an empty directory, with nothing to sync before."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        saver = Saver(Path(folder), engine.parameters, lambda: None)
        try:
            yield saver
        finally:
            saver.close()


def writing(options: Namespace) -> None:
    """Whole saves against dd, torch and others, all durable, in turn."""
    rows = []
    for name, n_params in SIZES.items():
        engine = make_engine(state_settings(n_params))
        with (
            tempfile.TemporaryDirectory(dir=options.directory) as folder,
            saver_of(engine, options.directory) as saver,
        ):
            calls = _writers(engine, Path(folder), saver)
            times = side_by_side(calls, options.repeats)
            dd = times["dd conv=fsync"].median
            rows += [
                [name, what, *taken.cells(), f"{dd / taken.median:.2f}"]
                for what, taken in times.items()
            ]
        del engine, calls
        gc.collect()
    header = ["state", "what", "median", "least", "most", "rate ÷ dd's (≥ 0.9)"]
    show("Writing, with fsync", header, rows)


def _writers(engine: Engine, folder: Path, saver: Saver) -> dict[str, Callable[[], object]]:
    parameters = engine.parameters
    state = {"weights": parameters.weights, "m": parameters.m, "v": parameters.v}
    n_blocks = 12 * parameters.n_params >> 23

    def andrea() -> None:
        saver.begin(1)
        saver.collect().path.unlink()

    def dd() -> None:
        target = folder / "dd"
        command = ["dd", "if=/dev/zero", f"of={target}", "bs=8M", f"count={n_blocks}", "conv=fsync"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        target.unlink()

    def torch_save() -> None:
        with (folder / "torch").open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        (folder / "torch").unlink()

    calls: dict[str, Callable[[], object]] = {
        "andrea": andrea,
        "dd conv=fsync": dd,
        "torch.save + fsync": torch_save,
        "DCP save": lambda: _dcp(state, folder / "dcp", is_async=False),
        "DCP async_save, until written": lambda: _dcp(state, folder / "dcp", is_async=True),
    }
    with contextlib.suppress(ModuleNotFoundError):
        save_file = importlib.import_module("safetensors.torch").save_file

        def safetensors() -> None:
            save_file(state, folder / "safetensors")
            with (folder / "safetensors").open("rb") as file:
                os.fsync(file.fileno())
            (folder / "safetensors").unlink()

        calls["safetensors + fsync"] = safetensors
    return calls


def _dcp(
    state: dict[str, torch.Tensor],
    target: Path,
    *,
    is_async: bool,
    stager: object = None,
    returned: Times | None = None,
) -> None:
    """A save by torch.distributed.checkpoint, whole; `returned` takes the time to its return."""
    dcp = importlib.import_module("torch.distributed.checkpoint")
    save = dcp.async_save if is_async else dcp.save
    options = {"async_stager": stager} if stager is not None else {}
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved = save(state, checkpoint_id=target, no_dist=True, **options)
        if returned is not None:
            returned.seconds.append(perf_counter() - started)
        if is_async:
            getattr(saved, "upload_completion", saved).result()
    shutil.rmtree(target)


def _async_waits(engine: Engine, directory: Path) -> dict[str, Times]:
    """How long the loop waits for DCP's async_save: with its default, and with a stager kept."""
    staging = importlib.import_module("torch.distributed.checkpoint.staging")
    parameters = engine.parameters
    state = {"weights": parameters.weights, "m": parameters.m, "v": parameters.v}
    options = staging.StagingOptions(
        use_pinned_memory=False, use_non_blocking_copy=False, use_async_staging=False
    )
    stagers = {"DCP async_save": None, "DCP async_save, stager": staging.DefaultStager(options)}
    found: dict[str, Times] = {}
    for name, stager in stagers.items():
        found[name] = Times()
        for _ in range(4):
            target = directory / "dcp"
            _dcp(state, target, is_async=True, stager=stager, returned=found[name])
        found[name].seconds.pop(0)  # the stager's first copy makes its buffers
    return found


def reading(options: Namespace) -> None:
    """Reading a checkpoint into place against a bare read of the same bytes and torch.load."""
    rows = []
    for name, n_params in SIZES.items():
        engine = make_engine(state_settings(n_params))
        with (
            saver_of(engine, options.directory) as saver,
            tempfile.TemporaryDirectory(dir=options.directory) as folder,
        ):
            saver.begin(1)
            path = saver.collect().path
            checkpoint = inspect_checkpoint(path, 1, engine.parameters.n_params)
            assert isinstance(checkpoint, Checkpoint)
            torch.save(engine.parameters.weights, Path(folder) / "torch")
            buffers = [as_memoryview(array) for array in engine.parameters.host_arrays()]
            calls: dict[str, Callable[[], object]] = {
                "andrea": partial(read_checkpoint_into, checkpoint, buffers),
                "bare read": partial(bare_read, path, buffers),
            }
            times = side_by_side(calls, 2 * options.repeats)
            third = side_by_side({"torch": partial(torch.load, Path(folder) / "torch")}, 3)
        times["torch.load of a third × 3"] = Times(3 * taken for taken in third["torch"].seconds)
        bare = times["bare read"].median
        rows += [[name, w, *t.cells(), f"{t.median / bare:.2f}"] for w, t in times.items()]
        del engine, buffers
        gc.collect()
    header = ["state", "what", "median", "least", "most", "÷ bare read (≤ 1.2)"]
    show("Reading into place, warm", header, rows)


def bare_read(path: Path, buffers: list[memoryview]) -> None:
    """The bytes behind the header, by readv alone."""
    with path.open("rb", buffering=0) as file:
        file.seek(8)
        for buffer in buffers:
            rest = buffer
            while n_read := os.readv(file.fileno(), [rest]):
                rest = rest[n_read:]


def resuming(options: Namespace) -> None:
    """From the process's start to the first step after a resume, demo and 120m-sized state."""
    rows = []
    for preset, micro_batch in (("demo", 8), ("andrea-120m", 1)):
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            run = one_step_run(Path(folder) / "run", preset, micro_batch)
            first, peak = first_record(run)
            bare, again = Times(), Times()
            peaks = [peak]
            for _ in range(3):
                import_torch = [sys.executable, "-c", "import torch"]
                bare.take(partial(subprocess.run, import_torch, check=True))
                seconds, peak = first_record(run)
                again.seconds.append(seconds)
                peaks.append(peak)
            n_params = load_settings(run.settings).model.n_params
            row = [preset, duration(bare.median), duration(first), duration(again.median)]
            row.append(f"{max(peaks) / 1e6:,.0f} MB")
            rows.append([*row, f"{max(peaks) / (4 * n_params):.2f} ×"])
    header = ["preset", "import torch", "new run, with tokenizer", "resume"]
    header += ["peak RSS", "÷ float32 parameters"]
    show("From the process's start to its first step; one step and one save each", header, rows)


def one_step_run(path: Path, preset: str, micro_batch: int) -> RunDirectory:
    """A run that makes one step of one short pass, with as good as no audit."""
    run, _ = ensure_run(path, preset=preset)
    rows = 1 if preset == "andrea-120m" else micro_batch
    settings = load_settings(run.settings)
    tokens = rows * settings.model.context
    text = run.settings.read_text()
    for before, after in (
        (f"batch_tokens = {settings.train.batch_tokens}", f"batch_tokens = {tokens}"),
        (f"micro_batch = {settings.train.micro_batch}", f"micro_batch = {rows}"),
        ('device = "auto"', 'device = "cpu"'),
        ("tokens = 420", "tokens = 4"),
    ):
        text = text.replace(before, after)
    text = text.replace('precision = "fp16"', 'precision = "auto"')
    run.settings.write_text(text)
    return run


def first_record(run: RunDirectory) -> tuple[float, int]:
    """Seconds from a trainer's start to the beginning of its first step; peak RSS in bytes.

    The step's own time, as its record tells it, is taken off. The trainer is stopped then.
    """
    n_before = len(load_records(run.loss).records)
    started = perf_counter()
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainer", str(run.path)], cwd=ROOT, stdout=log, stderr=log
        )
    while len(records := load_records(run.loss).records) == n_before:
        assert process.poll() is None, run.log.read_text()
        time.sleep(0.01)
    seconds = perf_counter() - started - records[n_before]["ms"] / 1000
    process.terminate()
    _, _, usage = os.wait4(process.pid, 0)
    return seconds, usage.ru_maxrss * 1024


def flat(options: Namespace) -> None:
    """Memory and descriptors over 500 saves of a small model."""
    settings = preset_settings("demo", rows=1)
    engine, batch = make_engine(settings), batches(settings)
    rows = []
    with saver_of(engine, options.directory) as saver:
        engine.before_update = saver.before_update
        for number in range(1, 501):
            saver.begin(number)
            engine.train_step(batch())
            saver.collect().path.unlink()
            if number in (10, 100, 250, 500):
                resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
                n_open = str(n_descriptors(os.getpid()))
                rows.append([str(number), f"{resident / 1e6:.1f} MB", n_open])
    show("500 saves of the demo model", ["saves", "RSS", "descriptors"], rows)
