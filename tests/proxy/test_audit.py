"""The audit: what it asks of the engine and what it makes of the answers."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from trainer.proxy.audit import Audit, audit, held_out_rows
from trainer.proxy.score import score_text
from trainer.proxy.tokenizer import LEARNED_SEPARATOR, TextTokenizer
from trainer.rundir.config.settings import AuditSettings
from trainer.rundir.sources.token_arrays import TokenArray

CONTEXT = 4
HELD_OUT: TokenArray = np.arange(401, dtype=np.uint16)  # 100 rows


class ScriptedEngine:
    """Answers with given tokens and losses, and remembers what it was asked."""

    def __init__(self, tokens: Sequence[int] = (), losses: Sequence[float] = ()) -> None:
        self._tokens = list(tokens)
        self._losses = list(losses)
        self.asked: list[tuple[list[int], int, int]] = []
        self.rows: list[NDArray[np.int64]] = []

    def sample(
        self, prompt: Sequence[int], n_tokens: int, *, seed: int, temperature: float
    ) -> list[int]:
        assert 0 < temperature <= 1
        self.asked.append((list(prompt), n_tokens, seed))
        return self._tokens

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        self.rows.append(rows)
        return [self._losses.pop(0)] * len(rows)


def _audit(
    engine: ScriptedEngine,
    tokenizer: TextTokenizer,
    held_out: Mapping[str, TokenArray] | None = None,
    step: int = 100,
    seed: int = 1337,
    prompts: tuple[str, ...] = (),
    settings: AuditSettings | None = None,
) -> Audit:
    return audit(
        engine,
        tokenizer,
        held_out or {},
        step=step,
        seed=seed,
        settings=settings or AuditSettings(prompts=prompts),
        context=CONTEXT,
        clock=iter([10.0, 10.25]).__next__,
    )


def test_sample_is_420_free_tokens_from_the_separator_alone(tokenizer: TextTokenizer) -> None:
    engine = ScriptedEngine()
    _audit(engine, tokenizer)
    ((prompt, n_tokens, _),) = engine.asked
    assert (prompt, n_tokens) == ([LEARNED_SEPARATOR], 420)


def test_seed_of_the_sample_follows_run_and_step_alone(tokenizer: TextTokenizer) -> None:
    engine = ScriptedEngine()
    for step, seed in ((100, 1), (100, 1), (200, 1), (100, 2)):
        _audit(engine, tokenizer, step=step, seed=seed)
    seeds = [seed for _, _, seed in engine.asked]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_audit_carries_text_score_and_time(tokenizer: TextTokenizer) -> None:
    (ids,) = tokenizer.encode(["the cat sat on a mat"])
    made = _audit(ScriptedEngine([*ids, LEARNED_SEPARATOR]), tokenizer)
    (sample,) = made.samples
    assert sample.text == "the cat sat on a mat"
    assert sample.coherence == score_text(sample.text)
    assert (sample.prompt, sample.tokens, made.ms) == ("", len(ids) + 1, 250)


def test_each_prompt_has_a_sample_behind_the_separator_and_its_own_tokens(
    tokenizer: TextTokenizer,
) -> None:
    engine = ScriptedEngine()
    made = _audit(engine, tokenizer, prompts=("the cat", "a mat"))
    assert [sample.prompt for sample in made.samples] == ["", "the cat", "a mat"]
    begun = [prompt for prompt, _, _ in engine.asked]
    assert begun == [
        [LEARNED_SEPARATOR, *ids] for ids in tokenizer.encode(["", "the cat", "a mat"])
    ]
    assert [n_tokens for _, n_tokens, _ in engine.asked] == [420] * 3


def test_a_prompts_seed_follows_its_words_and_not_what_else_is_asked_for(
    tokenizer: TextTokenizer,
) -> None:
    seeds = []
    for prompts in ((), ("a",), ("b", "a")):
        engine = ScriptedEngine()
        _audit(engine, tokenizer, prompts=prompts)
        seeds.append(dict(zip(("", *prompts), (seed for _, _, seed in engine.asked), strict=True)))
    assert seeds[0][""] == seeds[1][""] == seeds[2][""]
    assert seeds[1]["a"] == seeds[2]["a"]
    assert len({*seeds[2].values()}) == 3


def test_any_tokens_are_audited(tokenizer: TextTokenizer) -> None:
    made = _audit(ScriptedEngine([*range(299, -1, -1), 511]), tokenizer)
    made.samples[0].text.encode()


def test_held_out_rows_are_so_many_spread_evenly_and_always_the_same() -> None:
    rows = held_out_rows(HELD_OUT, context=CONTEXT, most=16)
    assert rows.shape == (16, CONTEXT + 1)
    starts = rows[:, 0] // CONTEXT
    assert starts[0] == 0
    assert set(np.diff(starts)) == {6, 7}
    assert np.array_equal(rows, held_out_rows(HELD_OUT, context=CONTEXT, most=16))
    assert len(held_out_rows(HELD_OUT[:14], context=CONTEXT, most=16)) == 3
    assert len(held_out_rows(HELD_OUT, context=CONTEXT, most=64)) == 64


def test_an_audit_takes_as_many_held_out_rows_as_the_settings_say(
    tokenizer: TextTokenizer,
) -> None:
    engine = ScriptedEngine(losses=[1.0])
    made = _audit(engine, tokenizer, {"a": HELD_OUT}, settings=AuditSettings(held_out_rows=5))
    assert len(engine.rows[0]) == len(made.val_rows) == 5


def test_val_loss_is_the_mean_over_all_held_out_rows(tokenizer: TextTokenizer) -> None:
    engine = ScriptedEngine(losses=[2.0, 4.0])
    held_out = {"long": HELD_OUT, "short": HELD_OUT[:17], "none": HELD_OUT[:3]}
    made = _audit(engine, tokenizer, held_out)
    assert [len(rows) for rows in engine.rows] == [16, 4]
    assert made.val_loss == pytest.approx((16 * 2 + 4 * 4) / 20)
    assert made.val_losses == {"long": 2.0, "short": 4.0}


def test_each_held_out_row_has_its_loss_under_a_hash_of_its_tokens(
    tokenizer: TextTokenizer,
) -> None:
    made = _audit(ScriptedEngine(losses=[2.0]), tokenizer, {"a": HELD_OUT[:17]})
    again = _audit(
        ScriptedEngine(losses=[3.0, 5.0]), tokenizer, {"b": HELD_OUT[:9], "c": HELD_OUT[8:17]}
    )
    assert list(made.val_rows.values()) == [2.0] * 4
    assert list(again.val_rows) == list(made.val_rows)
    assert list(again.val_rows.values()) == [3.0, 3.0, 5.0, 5.0]


def test_nothing_held_out_has_no_val_loss(tokenizer: TextTokenizer) -> None:
    made = _audit(ScriptedEngine(), tokenizer, {"none": HELD_OUT[:3]})
    assert made.val_loss is None
    assert made.val_losses == {}


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_val_loss_that_is_not_finite_is_none(tokenizer: TextTokenizer, loss: float) -> None:
    made = _audit(ScriptedEngine(losses=[loss, 2.0]), tokenizer, {"a": HELD_OUT, "b": HELD_OUT})
    assert made.val_loss is None
    assert made.val_losses == {"a": None, "b": 2.0}
