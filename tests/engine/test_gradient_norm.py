"""The gradient norm: true at any size by rules 2, as it always was by rules 1."""

import math

import pytest
import torch
from torch import Tensor

from trainer.engine.gradient_norm import norm_of
from trainer.rundir.config.rules import RULES

OLD, NEW = RULES[1], RULES[2]


def values(count: int) -> Tensor:
    """Alike in size, as gradients of a layer are: what is added last is small against the sum."""
    return torch.randn(count, generator=torch.Generator().manual_seed(1)) * 1e-3


def reference(values: Tensor) -> float:
    return float(torch.linalg.vector_norm(values.double()))


def test_norm_of_many_values_is_that_of_float64() -> None:
    many = values(1_000_001)
    assert norm_of(many, NEW) == pytest.approx(reference(many), rel=1e-7)
    assert norm_of(many, OLD) != pytest.approx(reference(many), rel=1e-6), "what rules 2 are for"


@pytest.mark.parametrize("count", [1, 4095, 4096, 4097, 20_000])
def test_norm_is_right_whatever_is_left_beside_the_blocks(count: int) -> None:
    few = values(count)
    assert norm_of(few, NEW) == pytest.approx(reference(few), rel=1e-6)


def test_norm_of_rules_1_is_torchs_bit_for_bit() -> None:
    many = values(300_000)
    assert norm_of(many, OLD) == torch.linalg.vector_norm(many).item()


def test_number_of_threads_does_not_change_a_bit() -> None:
    many = values(1_000_001)
    before = torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found |= {norm_of(many, NEW) for _ in range(5)}
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("odd", [math.nan, math.inf])
@pytest.mark.parametrize("at", [0, -1])
def test_norm_with_a_value_that_is_not_finite_is_not_finite(odd: float, at: int) -> None:
    some = values(5000)
    some[at] = odd
    assert not math.isfinite(norm_of(some, NEW))
