"""One flat float32 buffer each for weights, gradients, m and v; the model's parameters are views.

So the optimiser is one call on one tensor, the gradient norm one reduction, and a checkpoint
three writes.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from trainer.engine.ranks import Ranks
from trainer.rundir.checkpoints.checkpoint import check_limits


class FlatParameters:
    """The state of the run at one step: float32 on one device.

    Weights and gradients are whole, (n_params,), on every rank; m and v of several ranks are each
    one's `own` slice only (Rajbhandari et al. 2020, stage 1).
    """

    def __init__(self, model: nn.Module, device: torch.device, ranks: Ranks | None = None) -> None:
        """Lay out the buffers in the order of `model.parameters()` and put views in their place."""
        self.ranks = ranks or Ranks()
        self.n_params = sum(parameter.numel() for parameter in model.parameters())
        check_limits(step=0, n_params=self.n_params)
        self.own = self.ranks.divide(self.n_params)
        self.weights = torch.zeros(self.n_params, device=device)
        self.gradients = torch.zeros(self.n_params, device=device)
        self.m = torch.zeros(self.own.stop - self.own.start, device=device)
        self.v = torch.zeros_like(self.m)
        self._replace_by_views(model)

    @property
    def are_finite(self) -> bool:
        """Whether no weight, m or v that this rank has is NaN or infinite."""
        # Least and greatest, which a NaN takes over: one pass, and no tensor of truth values.
        arrays = (array for array in (self.weights, self.m, self.v) if len(array))
        extremes = [torch.aminmax(array) for array in arrays]
        return all(math.isfinite(value) for found in extremes for value in map(float, found))

    def host_arrays(self) -> tuple[Tensor, Tensor, Tensor]:
        """Room for all weights, m and v in the CPU's memory: where one rank has them there already,
        that very memory; else copies, of m and v without what other ranks have of them.
        """
        if self.ranks.size == 1:
            return self.weights.cpu(), self.m.cpu(), self.v.cpu()
        return self.weights.cpu(), torch.zeros(self.n_params), torch.zeros(self.n_params)

    def load(self, arrays: tuple[Tensor, Tensor, Tensor]) -> None:
        """Take weights, m and v from CPU tensors, of which rank 0 has all, and hands out the
        others'; no copy where they are the buffers themselves.
        """
        if self.ranks.size > 1:
            self.ranks.broadcast(arrays[0])
        for mine, loaded in zip((self.weights, self.m, self.v), arrays, strict=True):
            if self.ranks.size > 1 and mine is not self.weights:
                self.ranks.hand_out(loaded, mine)
            elif mine.data_ptr() != loaded.data_ptr():
                mine.copy_(loaded)

    def collect(self, whole: tuple[Tensor, Tensor]) -> None:
        """Everybody's m and v into rank 0's CPU tensors; all ranks do it at once."""
        for mine, collected in zip((self.m, self.v), whole, strict=True):
            self.ranks.collect(mine, collected)

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
