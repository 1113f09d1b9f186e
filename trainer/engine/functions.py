"""The model's functions that are no matrix product, with backward passes of their own.

Autograd's composition of the same formulas makes a pass over memory for each operation; on the
CPU, squared ReLU alone cost a tenth of a demo step that way. Without gradients they go straight
to torch: making a node of the graph costs a sampled token more than the arithmetic does.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)  # 256² overflows in fp16
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=wide)
        scale = length.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        y: Tensor = (x * scale).to(x.dtype)
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        y, scale = ctx.saved_tensors
        along = (grad * y).mean(-1, keepdim=True)
        return (torch.addcmul(grad, y, along, value=-1) * scale).to(grad.dtype), None


class _SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive: Tensor = x.clamp_min(0)
        ctx.save_for_backward(positive)
        return positive.square()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        zero = positive.new_zeros(())
        twice: Tensor = torch.addcmul(zero, grad, positive, value=2)
        return twice


def _split(x_BT3HK: Tensor) -> tuple[Tensor, ...]:
    return x_BT3HK.permute(2, 0, 3, 1, 4).unbind(0)


class _SplitHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_BT3HK: Tensor) -> tuple[Tensor, ...]:
        return _split(x_BT3HK)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_BHTK: Tensor) -> Tensor:
        return torch.stack([grad_BHTK.transpose(1, 2) for grad_BHTK in grads_BHTK], dim=2)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits_NV: Tensor, targets_N: Tensor) -> Tensor:
        largest_N1 = logits_NV.amax(-1, keepdim=True)
        exp_NV = (logits_NV - largest_N1).exp_()
        sum_N1 = exp_NV.sum(-1, keepdim=True)
        targets_N1 = targets_N[:, None]
        ctx.save_for_backward(exp_NV, sum_N1, targets_N1)
        return (sum_N1.log() + largest_N1 - logits_NV.gather(-1, targets_N1)).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        exp_NV, sum_N1, targets_N1 = ctx.saved_tensors
        share = grad / len(targets_N1)
        grad_NV = exp_NV.mul_(share / sum_N1)
        # not scatter_add_, which has no deterministic kernel on CUDA
        return grad_NV.scatter_(-1, targets_N1, grad_NV.gather(-1, targets_N1) - share), None


def rms_norm(x: Tensor, eps: float) -> Tensor:
    """x / √(mean(x²) + eps) over the last axis, without weights (Zhang and Sennrich 2019)."""
    if not torch.is_grad_enabled():
        return F.rms_norm(x, x.shape[-1:], eps=eps)
    y: Tensor = _RmsNorm.apply(x, eps)  # type: ignore[no-untyped-call]
    return y


def squared_relu(x: Tensor) -> Tensor:
    """max(x, 0)² (So et al. 2021)."""
    if not torch.is_grad_enabled():
        return x.clamp_min(0).square_()
    y: Tensor = _SquaredRelu.apply(x)  # type: ignore[no-untyped-call]
    return y


def split_heads(x_BT3HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value (B, H, T, K) as views; their gradients are gathered in one copy."""
    if not torch.is_grad_enabled():
        q_BHTK, k_BHTK, v_BHTK = _split(x_BT3HK)
        return q_BHTK, k_BHTK, v_BHTK
    q_BHTK, k_BHTK, v_BHTK = _SplitHeads.apply(x_BT3HK)  # type: ignore[no-untyped-call]
    return q_BHTK, k_BHTK, v_BHTK


def cross_entropy(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """Mean of -log softmax(logits)[target], a float32 scalar; the exponentials are taken once."""
    loss: Tensor = _CrossEntropy.apply(logits_NV, targets_N)  # type: ignore[no-untyped-call]
    return loss
