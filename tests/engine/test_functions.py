"""The functions with backward passes of their own: against torch's, and against differences."""

import torch
from torch.nn import functional as F

from trainer.engine.functions import cross_entropy, rms_norm, split_heads, squared_relu


def inputs() -> torch.Tensor:
    generator = torch.Generator().manual_seed(4)
    return torch.randn(3, 5, 8, generator=generator, dtype=torch.float64, requires_grad=True)


def test_squared_relu_and_its_gradient_are_those_of_the_formula() -> None:
    x, same = inputs(), inputs()
    squared_relu(x).sum().backward()
    F.relu(same).square().sum().backward()
    assert torch.equal(squared_relu(x), F.relu(same).square())
    torch.testing.assert_close(x.grad, same.grad)


def test_rms_norm_and_its_gradient_are_torchs() -> None:
    x, same = inputs(), inputs()
    weights = torch.arange(8, dtype=torch.float64)
    (rms_norm(x, 1e-5) * weights).sum().backward()
    (F.rms_norm(same, (8,), eps=1e-5) * weights).sum().backward()
    torch.testing.assert_close(rms_norm(x, 1e-5), F.rms_norm(same, (8,), eps=1e-5))
    torch.testing.assert_close(x.grad, same.grad)


def test_rms_norm_of_half_precision_does_not_overflow() -> None:
    x = torch.full((1, 8), 400.0, dtype=torch.float16)
    torch.testing.assert_close(rms_norm(x, 1e-5), torch.ones(1, 8, dtype=torch.float16))


def test_split_heads_are_views_and_their_gradient_is_the_joined_one() -> None:
    x = torch.randn(2, 5, 3, 4, 8, dtype=torch.float64, requires_grad=True)
    q, k, v = split_heads(x)
    torch.testing.assert_close(k, x[:, :, 1].transpose(1, 2))
    (q.sum() + 2 * k.sum() + 3 * v.sum()).backward()
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(x.grad, weights[:, None, None].expand(2, 5, 3, 4, 8))


def test_cross_entropy_and_its_gradient_are_torchs() -> None:
    targets = torch.tensor([0, 7, 3, 3, 1])
    x, same = inputs()[0].detach().requires_grad_(), inputs()[0].detach().requires_grad_()
    (4 * cross_entropy(x, targets)).backward()
    (4 * F.cross_entropy(same, targets)).backward()
    torch.testing.assert_close(cross_entropy(x, targets), F.cross_entropy(same, targets))
    torch.testing.assert_close(x.grad, same.grad)


def test_cross_entropy_of_a_probability_that_underflows_is_finite() -> None:
    logits = torch.tensor([[0.0, 1000.0]])
    assert cross_entropy(logits, torch.tensor([0])).item() == 1000.0
