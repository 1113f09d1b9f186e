"""A source's tokens as arrays: memory maps of the files in `tokens/`."""

import mmap
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainer.rundir.reading import reading
from trainer.rundir.sources.prepared import TokenIndex

TokenArray: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]


def train_tokens(folder: Path, index: TokenIndex) -> TokenArray:
    """What batches of the source are drawn from. Raises `OSError`."""
    return _map(folder / index.file_names[0], index.dtype, index.train_tokens)


def held_out_tokens(folder: Path, index: TokenIndex) -> TokenArray:
    """What is held out of it: no batch is ever drawn from them. Raises `OSError`."""
    return _map(folder / index.file_names[1], index.dtype, index.held_out_tokens)


def fetch_ahead(tokens: TokenArray, rows: NDArray[np.int64], *, context: int) -> None:
    """Have the kernel read these rows while nobody waits for them; what fails is read later."""
    mapped: object = tokens.base
    if not isinstance(mapped, mmap.mmap):  # empty, or in memory
        return
    begins = rows * context * tokens.itemsize
    n_bytes = (context + 1) * tokens.itemsize
    pages = begins // mmap.PAGESIZE * mmap.PAGESIZE
    with suppress(OSError):
        for begin, page in zip(begins.tolist(), pages.tolist(), strict=True):
            mapped.madvise(mmap.MADV_WILLNEED, page, begin + n_bytes - page)


def _map(path: Path, dtype: str, tokens: int) -> TokenArray:
    if not tokens:  # an empty file can't be mapped
        return np.empty(0, dtype)
    with reading(path) as file:
        return np.memmap(file, dtype=dtype, mode="r", shape=(tokens,))
