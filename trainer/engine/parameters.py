"""One flat float32 buffer each for weights, gradients, m and v; the model's parameters are views.

So the optimiser is one call on one tensor, the gradient norm one reduction, and a checkpoint
three writes.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from trainer.rundir.checkpoints.checkpoint import check_limits


class FlatParameters:
    """The state of the run at one step: each tensor is (n_params,) float32 on one device."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        """Lay out the buffers in the order of `model.parameters()` and put views in their place."""
        self.n_params = sum(parameter.numel() for parameter in model.parameters())
        check_limits(step=0, n_params=self.n_params)
        self.weights = torch.zeros(self.n_params, device=device)
        self.gradients = torch.zeros(self.n_params, device=device)
        self.m = torch.zeros(self.n_params, device=device)
        self.v = torch.zeros(self.n_params, device=device)
        self._replace_by_views(model)

    @property
    def are_finite(self) -> bool:
        """Whether no weight, m or v is NaN or infinite."""
        # Least and greatest, which a NaN takes over: one pass, and no tensor of truth values.
        extremes = [torch.aminmax(array) for array in (self.weights, self.m, self.v)]
        return all(math.isfinite(value) for found in extremes for value in map(float, found))

    def host_arrays(self) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, m and v in the CPU's memory: themselves there, copies from elsewhere."""
        return self.weights.cpu(), self.m.cpu(), self.v.cpu()

    def load(self, arrays: tuple[Tensor, Tensor, Tensor]) -> None:
        """Take weights, m and v from CPU tensors; no copy where they are the buffers themselves."""
        for mine, loaded in zip((self.weights, self.m, self.v), arrays, strict=True):
            if mine.data_ptr() != loaded.data_ptr():
                mine.copy_(loaded)

    def _replace_by_views(self, model: nn.Module) -> None:
        start = 0
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                end = start + parameter.numel()
                view = nn.Parameter(self.weights[start:end].view(parameter.shape))
                view.grad = self.gradients[start:end].view(parameter.shape)
                setattr(module, name, view)
                start = end


def as_memoryview(array: Tensor) -> memoryview:
    """The bytes of a contiguous CPU tensor, writable, without a copy."""
    return memoryview(array.detach().numpy().view(np.uint8))  # type: ignore[arg-type]  # numpy < 2.5
