"""The loss on the whole of a held-out text, where an audit takes a few rows of it."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.batches import count_rows, take_rows
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.evaluations import HeldOutLoss
from trainer.rundir.outcomes import RunError
from trainer.rundir.sources.token_arrays import TokenArray

_DECODED_TOKENS = 1 << 16
"""At a time, at least; up to the next end of a document."""


class EvaluatedModel(Protocol):
    """What an evaluation asks of a model."""

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        """Mean loss of each row, nats a token; rows of shape (R, at most context + 1)."""


def held_out_loss(
    model: EvaluatedModel,
    tokenizer: TextTokenizer,
    tokens: TokenArray,
    *,
    context: int,
    rows_at_once: int,
    text: str = "",
    told: Callable[[int], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> HeldOutLoss | None:
    """All rows, and what is left behind the last of them as a shorter one; `None`: no target.

    `told` is called with the targets done so far, and may raise to give up. Raises `RunError`
    where a loss is not finite.
    """
    start_seconds = clock()
    losses: list[float] = []
    targets: list[int] = []
    for rows in _rows(tokens, context, rows_at_once):
        losses += model.evaluate(rows)
        targets += [rows.shape[1] - 1] * len(rows)
        told(sum(targets))
    if not targets:
        return None
    val_loss = weighted_mean(losses, targets)
    if not math.isfinite(val_loss):
        raise RunError("a held-out row has a loss that is not finite: the weights are damaged")
    return HeldOutLoss(
        val_loss=val_loss,
        standard_error=standard_error(losses, targets),
        tokens=sum(targets),
        rows=len(targets),
        bytes=text_bytes(tokenizer, tokens[1:]),
        text=text,
        seconds=clock() - start_seconds,
    )


def _rows(tokens: TokenArray, context: int, at_once: int) -> Iterator[NDArray[np.int64]]:
    n_rows = count_rows(tokens, context=context)
    for start in range(0, n_rows, at_once):
        numbers = np.arange(start, min(start + at_once, n_rows))
        yield take_rows(tokens, numbers, context=context)
    rest = tokens[n_rows * context :]
    if len(rest) > 1:
        yield rest[None, :].astype(np.int64)


def weighted_mean(losses: Sequence[float], targets: Sequence[int]) -> float:
    """Each target counting the same."""
    weighed = (loss * n for loss, n in zip(losses, targets, strict=True))
    return math.fsum(weighed) / sum(targets)


def standard_error(losses: Sequence[float], targets: Sequence[int]) -> float | None:
    """Of that mean, taken as a ratio over rows (Cochran 1977, section 6.4); a row tells none.

    A row is about a document's length, so what neighbouring tokens have in common is in it.
    """
    n = len(losses)
    if n < 2:
        return None
    mean = weighted_mean(losses, targets)
    off = (((loss - mean) * size) ** 2 for loss, size in zip(losses, targets, strict=True))
    return math.sqrt(n / (n - 1) * math.fsum(off)) / sum(targets)


def text_bytes(tokenizer: TextTokenizer, tokens: TokenArray) -> int:
    """Bytes in UTF-8 of the text of these tokens; an end of a document is none."""
    ends = np.flatnonzero(tokens == tokenizer.separator) + 1
    total = start = 0
    while start < len(tokens):
        beyond = int(np.searchsorted(ends, start + _DECODED_TOKENS))
        end = int(ends[beyond]) if beyond < len(ends) else len(tokens)
        total += len(tokenizer.decode(tokens[start:end].tolist()).encode())
        start = end
    return total
