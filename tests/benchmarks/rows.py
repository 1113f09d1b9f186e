"""Rows out of a cold file: how long a step waits for them, fetched ahead and not."""

import os
import time
from argparse import Namespace
from pathlib import Path

import numpy as np

from tests.benchmarks.measure import Times, duration, show
from trainer.proxy.batches import take_rows
from trainer.rundir.sources.token_arrays import fetch_ahead

_GIGABYTES = 4
_CONTEXT, _ROWS, _STEPS = 1024, 64, 40
_STEP_SECONDS = 0.2
"""Slept between asking for rows and taking them, where a step would be computed: an andrea-120m
step of 64 rows takes longer on any device known."""


def rows(options: Namespace) -> None:
    """Wait for a step's rows, the page cache cold: fetched ahead against taken as they come."""
    path = options.directory / "tokens.bin"
    _write(path)
    n_rows = (path.stat().st_size // 2 - 1) // _CONTEXT
    drawn = np.random.RandomState(0).permutation(n_rows)[: 2 * _STEPS * _ROWS]
    waits: dict[str, list[float]] = {"as they come": [], "fetched ahead": []}
    for number, batch in enumerate(drawn.reshape(-1, _ROWS)):
        name = ("as they come", "fetched ahead")[number % 2]
        _forget(path)
        tokens = np.memmap(path, "<u2", mode="r")
        if name == "fetched ahead":
            fetch_ahead(tokens, batch, context=_CONTEXT)
        time.sleep(_STEP_SECONDS)
        began = time.perf_counter()
        take_rows(tokens, batch, context=_CONTEXT)
        waits[name].append(time.perf_counter() - began)
        del tokens
    path.unlink()
    told = [
        [name, *(times := Times(taken)).cells(), f"{times.median / _STEP_SECONDS:.2%}"]
        for name, taken in waits.items()
    ]
    header = ["rows", "median", "least", "most", f"of a step of {duration(_STEP_SECONDS)}"]
    show(f"{_ROWS} rows of {_CONTEXT} tokens out of {_GIGABYTES} GB, cold", header, told)


def _write(path: Path) -> None:
    chance = np.random.RandomState(0)
    with path.open("wb") as file:
        for _ in range(_GIGABYTES * 16):
            file.write(chance.bytes(1 << 26))
        file.flush()
        os.fsync(file.fileno())


def _forget(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
