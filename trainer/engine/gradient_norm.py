"""The norm of all gradients, which clipping goes by."""

import torch
from torch import Tensor

from trainer.engine.ranks import Ranks
from trainer.rundir.config.rules import Rules

_BLOCK = 4096
"""Values that are summed in float32: far fewer than those whose squares a sum would lose."""


def norm_of(gradients_N: Tensor, rules: Rules) -> float:
    """√(sum of squares) of float32 values, shape (n,), on any device; NaN or inf where one is.

    torch sums a float32 norm on the CPU in float32, a few lanes from end to end: what is added
    late is small against the sum, and 1.3 % are lost at 120 million values. By blocks the error is
    under 1e-7 at any size, at the same cost: memory is read once, by one kernel, and the blocks'
    norms are a 4096th of it. Each block is summed by one thread, so their number changes nothing.
    """
    if not rules.sums_norm_by_blocks:
        return float(torch.linalg.vector_norm(gradients_N))
    return _whole([_block_norms(gradients_N)])


def norm_over(ranks: Ranks, own_N: Tensor, gradients_N: Tensor, rules: Rules) -> float:
    """The same of gradients of which each rank has its own slice, bit for bit.

    `gradients_N` is for what has to be summed in one, whole: it is overwritten then.
    """
    if ranks.size == 1:
        return norm_of(own_N, rules)
    if not rules.sums_norm_by_blocks:
        gradients_N[ranks.slices[ranks.rank]] = own_N
        ranks.gather(gradients_N)
        return norm_of(gradients_N, rules)
    is_last = ranks.rank == ranks.size - 1
    mine = _block_norms(own_N)[: None if is_last else -1]  # what is beside the blocks is the last's
    lengths = [(each.stop - each.start) // _BLOCK for each in ranks.slices]
    lengths[-1] += 1
    return _whole(ranks.gather_figures(mine, lengths))


def _block_norms(gradients_N: Tensor) -> Tensor:
    """Of each block, and at last of what is beside them."""
    whole = len(gradients_N) // _BLOCK * _BLOCK
    blocks = torch.linalg.vector_norm(gradients_N[:whole].view(-1, _BLOCK), dim=1)
    rest = torch.linalg.vector_norm(gradients_N[whole:]).reshape(1)
    return torch.cat((blocks, rest))


def _whole(norms: list[Tensor]) -> float:
    return float(torch.cat(norms).double().square().sum().sqrt())
