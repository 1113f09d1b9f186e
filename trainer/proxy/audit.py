"""The sample audit of a checkpoint: free text with its score, and the loss on held-out text."""

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.batches import count_rows, take_rows
from trainer.proxy.randomness import derive_seed
from trainer.proxy.score import Coherence, score_text
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import TEST, AuditSettings
from trainer.rundir.sources.token_arrays import TokenArray

TEMPERATURE = 0.8
"""Of the sample: a little under the model's own probabilities, as is usual for reading."""


class AuditedEngine(Protocol):
    """What an audit asks of the engine. Neither call may touch training's random state."""

    def sample(
        self, prompt: Sequence[int], n_tokens: int, *, seed: int, temperature: float
    ) -> list[int]:
        """`n_tokens` token ids that follow the prompt, drawn with a generator of its own."""

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        """Mean loss of each row, nats a token; rows of shape (R, context + 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the model wrote behind one prompt."""

    prompt: str
    text: str
    tokens: int
    """Free tokens: the prompt isn't among them."""
    coherence: Coherence


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One audit, as `.samples.json` records it."""

    samples: tuple[Sample, ...]
    """The first is the one without a prompt: what scores, gate and health go by."""
    val_loss: float | None
    """Mean over all held-out rows, nats a token; None: nothing is held out, or not finite."""
    val_losses: dict[str, float | None]
    """The same for each source that has a held-out row."""
    test_losses: dict[str, float | None]
    """The same for each test set: they are part of no mean."""
    val_rows: dict[str, float]
    """The loss of each held-out row by a hash of its tokens: what pairs the audits of two runs."""
    val_row_counts: dict[str, int]
    """How many of these stand for each source, in order; one that is in two is the first one's."""
    ms: float


def audit(
    engine: AuditedEngine,
    tokenizer: TextTokenizer,
    held_out: Mapping[str, TokenArray],
    *,
    step: int,
    seed: int,
    settings: AuditSettings,
    context: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Audit:
    """Sample free tokens without a prompt and behind each, score them, take the held-out loss.

    `held_out`: of sources by name, and of test sets, whose names begin with `TEST`.
    One sample after the other, so that none depends on what else is asked for.
    """
    start_seconds = clock()
    samples = tuple(
        _sample(engine, tokenizer, prompt, settings.tokens, seed=sample_seed(seed, step, prompt))
        for prompt in ("", *settings.prompts)
    )
    rows = {
        name: held_out_rows(tokens, context=context, most=settings.held_out_rows)
        for name, tokens in held_out.items()
    }
    losses = {name: engine.evaluate(taken) for name, taken in rows.items() if len(taken)}
    tests = {name: losses.pop(name) for name in list(losses) if name.startswith(TEST)}
    val_rows: dict[str, float] = {}
    val_row_counts: dict[str, int] = {}
    for name, of_source in losses.items():
        before = len(val_rows)
        for row, loss in zip(rows[name], of_source, strict=True):
            if math.isfinite(loss):
                val_rows[row_hash(row)] = loss
        val_row_counts[name] = len(val_rows) - before
    return Audit(
        samples=samples,
        val_loss=_mean([loss for of_source in losses.values() for loss in of_source]),
        val_losses={name: _mean(of_source) for name, of_source in losses.items()},
        test_losses={name.removeprefix(TEST): _mean(of_test) for name, of_test in tests.items()},
        val_rows=val_rows,
        val_row_counts=val_row_counts,
        ms=(clock() - start_seconds) * 1000,
    )


def sample_seed(seed: int, step: int, prompt: str) -> int:
    """It depends on nothing but the run's seed, the step and the prompt's own words."""
    return derive_seed("sample", seed, step, *((prompt,) if prompt else ()))


def _sample(
    engine: AuditedEngine, tokenizer: TextTokenizer, prompt: str, n_tokens: int, *, seed: int
) -> Sample:
    """It starts from the separator, as a document does, that begins with the prompt."""
    (begun,) = tokenizer.encode([prompt])
    prompt_ids = [tokenizer.separator, *begun]
    tokens = engine.sample(prompt_ids, n_tokens, seed=seed, temperature=TEMPERATURE)
    text = tokenizer.decode(tokens)
    return Sample(prompt=prompt, text=text, tokens=len(tokens), coherence=score_text(text))


def held_out_rows(tokens: TokenArray, *, context: int, most: int) -> NDArray[np.int64]:
    """The rows that stand for a source: up to so many, spread evenly, always the same."""
    n_rows = count_rows(tokens, context=context)
    n_taken = min(n_rows, most)
    chosen = np.arange(n_taken) * n_rows // max(1, n_taken)
    return take_rows(tokens, chosen, context=context)


def row_hash(row: NDArray[np.int64]) -> str:
    """12 hex digits that stand for a row's tokens, whatever source and run it is in."""
    return hashlib.sha256(row.astype("<u4").tobytes()).hexdigest()[:12]


def _mean(losses: Sequence[float]) -> float | None:
    """Each row counting the same; None where there is none, or one is not finite."""
    mean = math.fsum(losses) / len(losses) if losses else math.nan
    return mean if math.isfinite(mean) else None
