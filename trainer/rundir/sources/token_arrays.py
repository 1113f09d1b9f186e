"""A source's tokens as arrays: memory maps of the files in `tokens/`."""

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


def _map(path: Path, dtype: str, tokens: int) -> TokenArray:
    if not tokens:  # an empty file can't be mapped
        return np.empty(0, dtype)
    with reading(path) as file:
        return np.memmap(file, dtype=dtype, mode="r", shape=(tokens,))
