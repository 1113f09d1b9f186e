"""Batches: a pure function of what was given before, every row once a pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.proxy.batches import (
    count_rows,
    draw_rows,
    next_rows,
    require_known,
    require_rows,
    rows_given,
)
from trainer.rundir.outcomes import SourceError, TokensError
from trainer.rundir.records.loss_record import LossRecord

CONTEXT = 4
TOKENS = np.arange(101, dtype=np.uint16)  # 25 rows; row i starts with 4·i


def _draw(given_before: int, rows: int, *, seed: int = 1, arm: str = "a") -> list[int]:
    batch = draw_rows(
        TOKENS,
        context=CONTEXT,
        seed=seed,
        arm=arm,
        rows_given=given_before,
        rows=rows,
        by_number=True,
    )
    return [int(start) // CONTEXT for start in batch[:, 0]]


def test_batch_has_the_context_and_one_target_of_each_row() -> None:
    batch = draw_rows(
        TOKENS, context=CONTEXT, seed=1, arm="a", rows_given=0, rows=3, by_number=True
    )
    assert batch.shape == (3, CONTEXT + 1)
    assert batch.dtype == np.int64
    for row in batch:
        assert row.tolist() == list(range(row[0], row[0] + CONTEXT + 1))
        assert row[0] % CONTEXT == 0


@pytest.mark.parametrize(("tokens", "rows"), [(0, 0), (1, 0), (4, 0), (5, 1), (8, 1), (9, 2)])
def test_rows_do_not_overlap_and_each_has_its_target(tokens: int, rows: int) -> None:
    assert count_rows(TOKENS[:tokens], context=CONTEXT) == rows


@given(sizes=st.lists(st.integers(1, 60), max_size=8))
def test_batches_of_any_sizes_joined_are_the_straight_stream(sizes: list[int]) -> None:
    joined: list[int] = []
    for size in sizes:
        joined += _draw(len(joined), size)
    assert joined == _draw(0, sum(sizes))


def test_no_row_comes_twice_before_all_have_been_seen() -> None:
    stream = _draw(0, 100)
    for start in range(0, 100, 25):
        assert sorted(stream[start : start + 25]) == list(range(25))


def test_passes_arms_and_seeds_have_orders_of_their_own() -> None:
    orders = {
        tuple(_draw(0, 25)),
        tuple(_draw(25, 25)),
        tuple(_draw(0, 25, arm="b")),
        tuple(_draw(0, 25, seed=2)),
    }
    assert len(orders) == 4


def test_order_is_the_same_in_every_release() -> None:
    assert _draw(0, 8) == [6, 10, 21, 0, 16, 20, 23, 4]


def _numbers(n_rows: int, given_before: int, rows: int, *, by_number: bool = True) -> list[int]:
    found = next_rows(
        n_rows, seed=1, arm="a", rows_given=given_before, rows=rows, by_number=by_number
    )
    return [int(number) for number in found]


def test_order_of_many_rows_is_the_same_in_every_release() -> None:
    many = 1 << 20
    assert _numbers(many, 0, 4) == [24326, 752261, 752249, 89964]
    assert _numbers(many, many - 2, 4) == [754619, 62798, 1009762, 931827]
    assert _numbers(many, 0, 4, by_number=False) == [147564, 934950, 691758, 252231]


def test_few_rows_keep_the_order_that_they_had_before_the_rules_of_many() -> None:
    few = (1 << 20) - 1
    assert (
        _numbers(few, 0, 4)
        == _numbers(few, 0, 4, by_number=False)
        == [1000028, 574141, 778185, 515313]
    )


def test_no_row_of_many_comes_twice_before_all_have_been_seen() -> None:
    many = 1 << 20
    stream = np.array(_numbers(many, 0, 2 * many))
    for start in (0, many):
        assert np.array_equal(np.sort(stream[start : start + many]), np.arange(many))


def test_source_that_fills_no_row_is_an_error_with_the_numbers() -> None:
    with pytest.raises(SourceError, match=r"sources\.tiny: 4 training tokens .*context = 4 tokens"):
        require_rows("tiny", TOKENS[:4], context=CONTEXT)
    with pytest.raises(SourceError, match=r"sources\.tiny"):
        draw_rows(
            TOKENS[:4], context=CONTEXT, seed=1, arm="tiny", rows_given=0, rows=1, by_number=True
        )


def test_rows_given_are_counted_over_all_phases_of_the_history() -> None:
    records = [
        LossRecord(arm="a", tokens=32, phase=1),
        LossRecord(arm="b", tokens=8, phase=1),
        LossRecord(arm="a", tokens=16, phase=2),
    ]
    assert rows_given(records, context=CONTEXT) == {"a": 12, "b": 2}
    assert rows_given(records, context=CONTEXT)["new"] == 0


def test_a_token_that_the_model_does_not_know_is_said_to_be_damage() -> None:
    require_known("a", TOKENS, vocab_size=101)
    require_known("a", TOKENS[:0], vocab_size=1)
    with pytest.raises(TokensError, match=r"tokens of a are damaged: 100 is none of the 100"):
        require_known("a", TOKENS, vocab_size=100)
