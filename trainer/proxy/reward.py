"""The bandit's reward: how much is being learned, from text that doesn't repeat itself."""

import math

import numpy as np
from numpy.typing import NDArray

PROGRESS_SCALE_NATS = 0.1
"""A loss so far under the arm's own average earns half of what can be earned."""

NATURAL_SHARE = 0.5
"""Text with at least this share of distinct trigrams isn't repetitive; more earns nothing more."""

JUDGED_TOKENS = 8192
"""Rows of a batch that are looked at, in tokens: distinct shares depend on the amount of text."""


def compute_reward(rows: NDArray[np.int64], *, loss: float, ema_loss: float | None) -> float:
    """The reward of one step, in [0, 1]: learning progress x distinctness.

    Version 1 rewarded a low loss, so the source that repeated itself won, and the model learned
    to repeat. Here neither part can be had by repetition, nor by noise:

    - Learning progress: how far the step's loss lies under the arm's own average loss of late
      (`ema_loss`, before this step), in nats a token, through a logistic curve: nothing is worth
      0.27, 0.1 nats are worth 0.5, 0.3 nats 0.88. A text that is known by heart makes no
      progress, however low its loss; nor does noise, however high. Nats and not shares of the
      loss: a loss that is nearly 0 can still halve again and again. The curve is nearly
      straight about nothing, so a loss that merely jumps up and down averages out.
    - Distinctness: the share of distinct token trigrams in the batch, doubled, at most 1.
      Prose and code are far above the half that earns all of it, so noise gains nothing over
      them; "region region region" earns almost nothing, even while it is being learned.

    Args:
        rows: token ids, shape (rows, context + 1).
        loss: mean loss of this batch, nats a token.
        ema_loss: None before the arm's first pull, which counts as no progress.
    """
    progress_nats = 0.0 if ema_loss is None else ema_loss - loss
    logistic = 1 / (1 + math.exp(min(1 - progress_nats / PROGRESS_SCALE_NATS, 700.0)))
    return logistic * min(1.0, distinct_trigram_share(rows) / NATURAL_SHARE)


def distinct_trigram_share(rows: NDArray[np.int64]) -> float:
    """Distinct trigrams over trigrams of the first rows (8,192 tokens, at least one row)."""
    n_rows = max(1, JUDGED_TOKENS // rows.shape[1])
    tokens = rows[:n_rows].astype(np.uint64)
    if tokens.shape[1] < 3:
        return 1.0
    # 21 bits a token: exact for vocabularies of up to two million
    trigrams = tokens[:, :-2] << np.uint64(42) | tokens[:, 1:-1] << np.uint64(21) | tokens[:, 2:]
    ordered = np.sort(trigrams, axis=None)
    return float(1 + np.count_nonzero(ordered[1:] != ordered[:-1])) / ordered.size
