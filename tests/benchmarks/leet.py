"""The peer of the console: `wandb leet` on a run of as many records, as W&B itself logs them."""

import subprocess
from argparse import Namespace

from tests.benchmarks.measure import duration, show
from tests.benchmarks.pty_console import PtyConsole, PtyProgram
from tests.benchmarks.screen import runs, watched

RECORDS = 200_000
QUIET_SECONDS = 3.0
LOGGER = """
import json, sys, wandb
settings = wandb.Settings(console="off", x_disable_stats=True, x_disable_meta=True, silent=True)
run = wandb.init(project="day23", mode="offline", dir=sys.argv[2], settings=settings)
for record in json.load(open(sys.argv[1])):
    run.log({k: record[k] for k in ("loss", "ema", "lr", "grad_norm", "reward")})
run.finish()
"""
"""For the Python beside the `wandb` command: logs a loss history offline."""


def leet(options: Namespace) -> None:
    """Whole history, idle and memory beside `wandb leet` (`--wandb` names its command)."""
    run = runs(options.directory, (RECORDS,))[RECORDS]
    logged = options.directory / "wandb"
    if not logged.exists():
        python = options.wandb.parent / "python"
        subprocess.run([python, "-c", LOGGER, run.loss, options.directory], check=True)
    rows = []
    for turn in range(1, options.repeats + 1):
        with PtyConsole(run.path, "--no-launch") as console:
            rows.append(["andrea", str(turn), *_measured(console, options.seconds)])
        with PtyProgram(str(options.wandb), "leet", str(logged)) as program:
            rows.append(["wandb leet", str(turn), *_measured(program, options.seconds)])
    header = ["what", "turn", "first bytes", "whole history", "its CPU"]
    header += ["idle CPU of a core", "idle bytes a second", "RSS"]
    show(f"{RECORDS:,} records", header, rows)


def _measured(program: PtyProgram, idle_seconds: float) -> list[str]:
    first = program.wait_for(b"\x1b[")
    complete = program.settle(QUIET_SECONDS)
    cells = [duration(first), duration(complete), duration(program.cpu_seconds())]
    return [*cells, *watched(program, idle_seconds)]
