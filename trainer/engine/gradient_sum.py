"""The gradient of a step: the gradients of its shares, added up in their order.

A share is an equal part of the step's micro-batches, the work of one rank. Floating-point addition
is not associative, so a sum that a library makes depends on how many took part in it. Here the
shares are added one after the other, 0, 1, 2 and so on, whoever has computed them: the bits do not
depend on the number of ranks. With one micro-batch a share it is what one process does anyway.
"""

from torch import Tensor

from trainer.engine.ranks import Ranks


class GradientSum:
    """Takes the shares as they come; `own` is this rank's slice of their sum."""

    def __init__(self, gradients: Tensor, own: slice, ranks: Ranks, *, is_plain: bool) -> None:
        """`gradients`: where a share's gradient is computed, whole; `own`: the slice to sum.

        `is_plain`: of one rank, whose micro-batches add themselves up where they are computed;
        else it takes memory for the sum of the slice, and for each other rank's part of it.
        """
        self._gradients = gradients
        self._ranks = ranks
        self._is_plain = is_plain
        mine = gradients[own]
        self.own = mine if is_plain else mine.new_zeros(len(mine))
        self._received = mine.new_empty(ranks.size * len(mine) if ranks.size > 1 else 0)

    def begin(self) -> None:
        """Before a step's first share."""
        self._gradients.zero_()
        if not self._is_plain:
            self.own.zero_()

    def take(self) -> None:
        """A share of each rank is computed: add them up, and make room for the next."""
        if self._is_plain:
            return
        for part in self._ranks.exchange(self._gradients, self._received):
            self.own.add_(part)
        self._gradients.zero_()
