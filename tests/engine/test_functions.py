"""The functions with backward passes of their own: against torch's, and against differences."""

import torch
from torch.nn import functional as F

from trainer.engine.functions import rms_norm, squared_relu


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
