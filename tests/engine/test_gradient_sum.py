"""The gradient of a step is the sum of its shares in their order, whoever has computed them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainer.engine.engine import Engine
from trainer.engine.gradient_norm import norm_of
from trainer.engine.gradient_sum import GradientSum
from trainer.engine.ranks import SLICE_UNIT, Ranks, slices_of
from trainer.rundir.config.rules import RULES
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.outcomes import SettingsError

SETTINGS = parse_settings("""
rules = 4
[model]
vocab_size = 300
context = 8
layers = 1
heads = 2
width = 16
[train]
total_steps = 100
batch_tokens = 64
micro_batch = 1
device = "cpu"
[optimizer]
lr = 3e-3
min_lr = 3e-4
warmup_steps = 4
""")


def rows(seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 300, (8, 9))


def trained(shares: int) -> tuple[torch.Tensor, object]:
    engine = Engine(with_shares(shares))
    engine.initialise()
    results = [engine.train_step(rows(seed)) for seed in range(3)]
    return engine.parameters.weights, results


def with_shares(shares: int) -> Settings:
    return replace(SETTINGS, train=replace(SETTINGS.train, shares=shares))


def test_a_share_a_micro_batch_and_one_share_are_what_a_run_without_the_setting_does() -> None:
    weights, results = trained(0)
    for shares in (1, 8):
        others, same = trained(shares)
        assert same == results
        assert torch.equal(others, weights)


def test_other_shares_are_another_sum_of_the_same_gradients() -> None:
    weights, _ = trained(0)
    others, _ = trained(2)
    assert not torch.equal(others, weights)
    torch.testing.assert_close(others, weights)


def test_shares_are_added_up_in_their_order() -> None:
    engine = Engine(with_shares(4))
    engine.initialise()
    weights = engine.parameters.weights.clone()
    result = engine.train_step(rows())
    alone = Engine(with_shares(1))
    total = torch.zeros_like(weights)
    for start in range(0, 8, 2):
        alone.parameters.weights.copy_(weights)
        alone.parameters.gradients.zero_()
        tokens = torch.from_numpy(rows()[start : start + 2])
        for row in tokens.split(1):
            (alone.model.loss(row[:, :-1], row[:, 1:]) / 8).backward()
        total += alone.parameters.gradients
    assert result.grad_norm == norm_of(total, RULES[4])


def test_a_sum_of_shares_takes_one_more_gradient_at_most() -> None:
    for shares, n_more in ((0, 0), (1, 0), (2, 1), (4, 1), (8, 0)):
        engine = Engine(with_shares(shares))
        is_more = engine._sum.own.data_ptr() != engine.parameters.gradients.data_ptr()
        assert (is_more, len(engine._sum._received)) == (bool(n_more), 0)


@pytest.mark.parametrize(("setting", "value"), [("shares", 3), ("shares", -1), ("ranks", -1)])
def test_what_cannot_be_shared_is_refused_by_its_name(setting: str, value: int) -> None:
    with pytest.raises(SettingsError, match=f"train.{setting}"):
        parse_settings(f"[train]\n{setting} = {value}\n")


def test_ranks_that_do_not_divide_the_shares_are_refused_with_those_that_do() -> None:
    with pytest.raises(SettingsError, match=r"train\.ranks: 3 .* 4 parts.*train\.shares.* 1, 2, 4"):
        replace(SETTINGS, train=replace(SETTINGS.train, shares=4, ranks=3))
    with pytest.raises(SettingsError, match=r"train\.ranks: 16 .* 8 parts.*micro-batches"):
        SETTINGS.require_ranks(16)


@pytest.mark.parametrize("n_params", [1, SLICE_UNIT, 5 * SLICE_UNIT + 7, 100 * SLICE_UNIT])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_slices_are_whole_units_in_a_row(n_params: int, size: int) -> None:
    slices = slices_of(n_params, size)
    assert [part.start for part in slices] == [0, *(part.stop for part in slices[:-1])]
    assert slices[-1].stop == n_params
    assert all(part.start % SLICE_UNIT == 0 for part in slices)
    lengths = [part.stop - part.start for part in slices]
    assert max(lengths) - min(lengths) < 2 * SLICE_UNIT


class InOneProcess(Ranks):
    """Ranks whose copies are looked up in each other's memory."""

    gradients: ClassVar[dict[int, torch.Tensor]] = {}

    def exchange(self, gradients: torch.Tensor, received: torch.Tensor) -> Sequence[torch.Tensor]:
        own = self.slices[self.rank]
        return [self.gradients[rank][own] for rank in range(self.size)]


@given(
    size=st.integers(1, 6),
    n_rounds=st.integers(1, 4),
    n_params=st.integers(1, 5 * SLICE_UNIT),
    seed=st.integers(0, 2**31),
)
@hypothesis_settings(max_examples=30, deadline=None)
def test_any_ranks_sum_any_shares_as_one_adds_them_up(
    size: int, n_rounds: int, n_params: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    shares = torch.randn(n_rounds * size, n_params, generator=generator)
    wanted = torch.zeros(n_params)
    for share in shares:
        wanted += share
    crew = [InOneProcess(rank=rank, size=size) for rank in range(size)]
    owns = [ranks.divide(n_params) for ranks in crew]
    buffers = [torch.zeros(n_params) for _ in crew]
    sums = [
        GradientSum(buffer, own, ranks, is_plain=False)
        for buffer, own, ranks in zip(buffers, owns, crew, strict=True)
    ]
    for each in sums:
        each.begin()
    for at in range(0, len(shares), size):
        computed = shares[at : at + size]
        InOneProcess.gradients = dict(enumerate(computed))
        for buffer, share, each in zip(buffers, computed, sums, strict=True):
            buffer.copy_(share)
            each.take()
    assert torch.equal(torch.cat([each.own for each in sums]), wanted)
