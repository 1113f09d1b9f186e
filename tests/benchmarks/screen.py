"""The console on a run of day 23: start, news, idle, training beside it, imports, soak."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import numpy as np

from console.follow.follower import Follower
from console.follow.watch import TICK_SECONDS
from tests.benchmarks.day23 import loss_record, make_run
from tests.benchmarks.measure import Times, duration, show
from tests.benchmarks.pty_console import ENVIRONMENT, ROOT, PtyConsole, PtyProgram, cpu_seconds
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray

QUIET_SECONDS = 0.7
"""With the whole history on it, a screen is complete when nothing is sent for so long. What comes
two seconds later is the second sample of the machine, which tells rates.
"""
SIZES = (2_000, 200_000, 1_000_000)
SCRIPTED = ROOT / "tests" / "console" / "scripted_trainer.py"


def runs(directory: Path, sizes: tuple[int, ...] = SIZES) -> dict[int, RunDirectory]:
    """Runs of day 23 by their number of records; made once and kept."""
    made = {}
    for records in sizes:
        path = directory / f"day23-{records}"
        is_made = (path / "whole").exists()
        if not is_made:
            shutil.rmtree(path, ignore_errors=True)
            make_run(path, records)
            (path / "whole").touch()
        made[records] = RunDirectory(path)
    return made


def opening(options: Namespace) -> None:
    """From the process's start to the complete screen, keys meanwhile, memory, bytes sent.

    The first time, and again, when what was read is in the cache.
    """
    cache = options.directory / "opening-cache"
    rows = []
    for records, run in runs(options.directory).items():
        first, again, keys = Openings(), Openings(), Times()
        for _ in range(options.repeats):
            shutil.rmtree(cache, ignore_errors=True)
            for taken in (first, again):
                taken.take(run, records, cache)
            with PtyConsole(run.path, "--no-launch") as console:
                console.wait_for(b"loss")
                keys.seconds += [console.press("?") for _ in range(8)]  # opens and closes
        rows.append([f"{records:,}", "first", *first.cells(), "", ""])
        of_keys = [duration(keys.median), duration(max(keys.seconds))]
        rows.append([f"{records:,}", "again", *again.cells(), *of_keys])
    header = ["records", "time", "first paint", "complete", "least", "CPU", "peak RSS"]
    header += ["bytes sent", "key, median", "key, worst"]
    show("Opening, 2,000 checkpoints and audits", header, rows)


class Openings:
    """Measured openings of one kind."""

    def __init__(self) -> None:
        self._first, self._complete, self._cpu = Times(), Times(), Times()
        self._peak = self._n_bytes = 0

    def take(self, run: RunDirectory, records: int, cache: Path) -> None:
        """Open once more."""
        environment = {"XDG_CACHE_HOME": str(cache)}
        with PtyConsole(run.path, "--no-launch", environment=environment) as console:
            self._first.seconds.append(console.wait_for(b"loss"))
            wait_for_history(console, records)
            self._complete.seconds.append(console.settle(QUIET_SECONDS))
            self._cpu.seconds.append(console.cpu_seconds())
            self._peak = max(self._peak, console.peak_rss_bytes())
            self._n_bytes = len(console.output)

    def cells(self) -> list[str]:
        """First paint, complete (median and least), CPU, peak of memory, bytes sent."""
        complete = self._complete
        times = [self._first.median, complete.median, min(complete.seconds), self._cpu.median]
        sizes = [f"{self._peak / 1e6:.0f} MB", f"{self._n_bytes / 1e3:.0f} KB"]
        return [*map(duration, times), *sizes]


def wait_for_history(console: PtyProgram, records: int, *, n_more: int = 0) -> None:
    """Until the newest record's EMA is shown, for which all of them have to be read."""
    console.wait_for(f"{loss_record(records + n_more, records, 0.0)['ema']:.4f}".encode())


def news(options: Namespace) -> None:
    """One new record: from its write to the screen; bytes read and points touched for it."""
    rows = []
    for records, run in runs(options.directory, (2_000, 1_000_000)).items():
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            copy = RunDirectory(Path(folder) / "run")
            shutil.copytree(run.path, copy.path, ignore=shutil.ignore_patterns("step_*", "tokens"))
            losses = RecordArray(copy.loss)
            losses.records = []
            n_read, n_touched, look = count_work(copy, losses, records)
            delay = Times()
            with PtyConsole(copy.path, "--no-launch") as console:
                wait_for_history(console, records, n_more=10)
                console.settle(QUIET_SECONDS)
                for step in range(records + 11, records + 21):
                    append(losses, step, records)
                    written = perf_counter()
                    while not console.pump(1.0):
                        pass
                    delay.seconds.append(console.last_output - written)
                    console.watch(0.5)
            losses.close()
        rows.append([f"{records:,}", *delay.cells(), duration(look), f"{n_read:,}", str(n_touched)])
    header = ["records", "on screen, median", "least", "most", "look, median"]
    show("A new record", [*header, "bytes read", "points touched"], rows)


def append(losses: RecordArray, step: int, records: int) -> None:
    losses.append({**loss_record(step, records, time.time()), "phase": 5, "attempt": 9})


def count_work(run: RunDirectory, losses: RecordArray, records: int) -> tuple[int, int, float]:
    """Bytes read and array elements written for one record by a follower; a look's seconds."""
    follower = Follower(run)
    while not follower.is_complete:
        follower.look()
    follower.look()
    counted: Counter[str] = Counter()
    real_pread, looks = os.pread, Times()

    def counting_pread(fd: int, n_bytes: int, offset: int) -> bytes:
        data = real_pread(fd, n_bytes, offset)
        counted["bytes"] += len(data)
        return data

    before = follower.series.view()
    with patch("os.pread", counting_pread):
        for step in range(records + 1, records + 11):
            append(losses, step, records)
            looks.take(follower.look)
    after = follower.series.view()
    is_same_memory = np.shares_memory(before.loss, after.loss)
    touched = len(after) - len(before) if is_same_memory else len(after)
    return counted["bytes"] // 10, touched // 10, looks.median


def idle(options: Namespace) -> None:
    """CPU and bytes to the terminal while nothing happens, and at 20 steps a second."""
    rows = []
    run = runs(options.directory, (200_000,))[200_000]
    with PtyConsole(run.path, "--no-launch") as console:
        wait_for_history(console, 200_000)
        console.watch(3 * TICK_SECONDS)
        rows.append(["idle, 200,000 records", *watched(console, options.seconds)])
    with (
        tempfile.TemporaryDirectory(dir=options.directory) as folder,
        scripted(Path(folder) / "run") as (path, _),
        PtyConsole(path, "--no-launch") as console,
    ):
        console.wait_for(b"loss")
        console.watch(3.0)
        rows.append(["20 steps a second", *watched(console, options.seconds)])
    show("At rest and at work", ["what", "CPU of a core", "bytes a second", "RSS"], rows)


def watched(console: PtyProgram, seconds: float) -> list[str]:
    """CPU of a core, bytes a second and memory over so many seconds."""
    before, started = console.cpu_seconds(), perf_counter()
    n_bytes = console.watch(seconds)
    elapsed = perf_counter() - started
    used = (console.cpu_seconds() - before) / elapsed
    return [f"{used:.2%}", f"{n_bytes / elapsed:,.0f}", f"{console.rss_bytes() / 1e6:.0f} MB"]


class scripted:  # noqa: N801 - used as a context manager
    """A scripted trainer at 20 steps a second, a checkpoint every 1,000."""

    def __init__(self, path: Path) -> None:
        run, _ = ensure_run(path, preset="demo")
        options = ["--step-seconds", "0.05", "--every", "1000", "--total-steps", "10000000"]
        self._run = run
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPTED), *options, str(path)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )

    def __enter__(self) -> tuple[Path, int]:
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self._run.path, self._process.pid

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def soak(options: Namespace) -> None:
    """`--seconds 3600`: memory and descriptors over an hour at 20 steps a second."""
    rows = []
    with (
        tempfile.TemporaryDirectory(dir=options.directory) as folder,
        scripted(Path(folder) / "run") as (path, trainer_pid),
        PtyConsole(path, "--no-launch") as console,
    ):
        console.wait_for(b"loss")
        for part in range(7):
            if part:
                console.watch(options.seconds / 6)
                console.output = b""
            row = [duration(part * options.seconds / 6), f"{console.rss_bytes() / 1e6:.1f} MB"]
            rows.append([*row, str(console.descriptors()), f"{cpu_seconds(trainer_pid):.1f} s"])
    header = ["after", "RSS", "descriptors", "CPU of the scripted trainer"]
    show("Soak, 20 steps a second", header, rows)


def imports(options: Namespace) -> None:
    """The ten dearest imports of the console, their own time without what they import."""
    command = "import gc; gc.disable(); import console.cli, console.ui.session"
    found: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        ran = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", command],
            cwd=ROOT,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in ran.stderr.splitlines()[1:]:
            own, _, name = line.removeprefix("import time:").split("|")
            if own.strip().isdigit():
                found.setdefault(name.strip(), []).append(int(own) / 1e6)
    medians = {name: Times(seconds).median for name, seconds in found.items()}
    packages: Counter[str] = Counter()
    for name, seconds in medians.items():
        packages[name.partition(".")[0]] += seconds  # type: ignore[assignment]
    dearest = sorted(medians, key=lambda name: -medians[name])[:10]
    show("Dearest imports", ["module", "own"], [[n, duration(medians[n])] for n in dearest])
    top = [[name, duration(seconds)] for name, seconds in packages.most_common(8)]
    show(
        "The same by package", ["package", "own"], [*top, ["all", duration(sum(medians.values()))]]
    )
