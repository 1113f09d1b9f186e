"""The loss on a whole held-out text."""

import math
import statistics

import numpy as np
import pytest
from numpy.typing import NDArray

from trainer.proxy.evaluation import held_out_loss, standard_error, text_bytes
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.outcomes import RunError

CONTEXT = 4


class CountingModel:
    """A row's loss is its first target; remembers which targets it was asked for."""

    def __init__(self) -> None:
        self.targets: list[int] = []

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        self.targets += rows[:, 1:].ravel().tolist()
        return [float(row[1]) for row in rows]


@pytest.mark.parametrize("n_tokens", [2, 4, 5, 6, 9, 30])
def test_every_token_but_the_first_is_a_target_once(
    n_tokens: int, tokenizer: TextTokenizer
) -> None:
    model, tokens = CountingModel(), np.arange(n_tokens, dtype=np.uint16)
    told: list[int] = []
    loss = held_out_loss(
        model, tokenizer, tokens, context=CONTEXT, rows_at_once=3, told=told.append
    )
    assert loss is not None
    assert model.targets == list(range(1, n_tokens))
    assert (loss.tokens, loss.rows) == (n_tokens - 1, math.ceil((n_tokens - 1) / CONTEXT))
    assert told[-1] == n_tokens - 1


def test_a_text_without_a_target_has_no_loss(tokenizer: TextTokenizer) -> None:
    one = np.zeros(1, np.uint16)
    none = held_out_loss(CountingModel(), tokenizer, one, context=CONTEXT, rows_at_once=1)
    assert none is None


def test_each_token_counts_the_same_in_the_mean(tokenizer: TextTokenizer) -> None:
    tokens = np.array([9, 1, 9, 9, 9, 7], np.uint16)  # a row of four targets, and one of one
    loss = held_out_loss(CountingModel(), tokenizer, tokens, context=CONTEXT, rows_at_once=8)
    assert loss is not None
    assert loss.val_loss == pytest.approx((4 * 1 + 1 * 7) / 5)


def test_the_error_is_that_of_a_mean_of_rows() -> None:
    losses = [2.0, 2.5, 3.5, 2.25]
    expected = statistics.stdev(losses) / math.sqrt(len(losses))
    assert standard_error(losses, [CONTEXT] * 4) == pytest.approx(expected)
    assert standard_error([2.0], [CONTEXT]) is None


def test_the_bytes_are_those_of_the_text_and_an_end_of_a_document_is_none(
    tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = ["größer – naïve 🙂", "plain words", "", "日本語"] * 5
    ids = [[*of_one, tokenizer.separator] for of_one in tokenizer.encode(documents)]
    tokens = np.array([token for of_one in ids for token in of_one], np.uint16)
    monkeypatch.setattr("trainer.proxy.evaluation._DECODED_TOKENS", 10)
    assert text_bytes(tokenizer, tokens) == sum(len(text.encode()) for text in documents)


def test_a_loss_that_is_not_finite_is_an_error_and_no_figure(tokenizer: TextTokenizer) -> None:
    class Broken:
        def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
            return [math.nan] * len(rows)

    with pytest.raises(RunError, match="not finite"):
        held_out_loss(
            Broken(), tokenizer, np.arange(9, dtype=np.uint16), context=CONTEXT, rows_at_once=1
        )
