"""The ranks of a run: processes that train it together, each with a device of its own.

The wire only copies. What is summed is summed by whoever owns it, in the order of the shares, so
no bit depends on how many ranks there are, or on what a library chose. Rank 0 leads: it decides
and tells the others, which know no sources, no records and no signals. Gradients, weights and the
figures of a step go from device to device; all else through the memory of the hosts.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from time import perf_counter
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainer.rundir.outcomes import RankError
from trainer.rundir.state import RankState

SLICE_UNIT = 1 << 14
"""Parameters: slices begin at multiples, so that none cuts a block of the norm, or a vector of the
fused update, at another place than one process would."""


class Crew(Protocol):
    """What lies beneath the copies: who is there, and what rank 0 tells them."""

    def tell(self, order: str) -> None:
        """Rank 0: what all do next. Raises `RankError` where one is gone."""

    def blame(self, error: Exception) -> RankError:
        """Who is gone, after a copy failed."""

    def states(self, step: int, waited_ms: float) -> tuple[RankState, ...]:
        """All ranks, for `.state.json`."""

    def close(self) -> None:
        """Nothing more will be told."""


@dataclass(slots=True)
class Ranks:
    """This process among those that train the run; one that is alone needs no torch.distributed."""

    rank: int = 0
    size: int = 1
    local: int | None = None
    """Number of the device that is this rank's, among those of its machine; None: any."""
    crew: Crew | None = None
    """None: this process is alone."""
    slices: list[slice] = field(default_factory=list)
    """Whose parameters are which, once their number is known."""
    waited_ms: float = 0.0
    """In the exchanges of the last step: least for whom the others wait."""
    is_waiting: bool = False
    """Whether it waits for others at this moment."""
    is_in_step: bool = False
    """Whether an order is being done, so that the others can't hear another one."""

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def divide(self, n_params: int) -> slice:
        """Give each rank a slice of the parameters, in order; returns this rank's."""
        self.slices = slices_of(n_params, self.size)
        return self.slices[self.rank]

    @contextmanager
    def together(self, order: str) -> Iterator[None]:
        """What all do at the same time: rank 0 tells the others, who wait for it."""
        if self.crew is not None and self.leads:
            self.crew.tell(order)
        self.is_in_step = self.size > 1
        yield
        self.is_in_step = False  # not after an error: the others are still at it

    def require_all(self) -> None:
        """Raise `RankError` where one of the others is gone."""
        if self.crew is not None and self.leads:
            self.crew.tell("")

    def states(self, step: int) -> tuple[RankState, ...]:
        """All ranks, for `.state.json`; none where one is alone."""
        return () if self.crew is None else self.crew.states(step, self.waited_ms)

    def close(self) -> None:
        """The training is over."""
        if self.crew is not None:
            self.crew.close()

    def share_rows(
        self, rows: NDArray[np.int64] | None, shape: tuple[int, int], n_shares: int
    ) -> NDArray[np.int64]:
        """This rank's of the rows that rank 0 has: of every `size` shares the `rank`-th."""
        if self.size == 1:
            assert rows is not None
            return rows
        mine = torch.empty((shape[0] // self.size, shape[1]), dtype=torch.int64)
        parts = None
        if rows is not None:
            rounds = torch.from_numpy(rows).view(n_shares // self.size, self.size, -1, shape[1])
            parts = [rounds[:, rank].reshape(mine.shape).contiguous() for rank in range(self.size)]
        with self._copying() as dist:
            dist.scatter(mine, parts, src=0)
        return mine.numpy()

    def exchange(self, gradients: Tensor, received: Tensor) -> Sequence[Tensor]:
        """Everybody's part of this rank's slice of a gradient, in the order of the ranks."""
        if self.size == 1:
            return [gradients]
        lengths = [each.stop - each.start for each in self.slices]
        with self._copying() as dist:
            dist.all_to_all_single(received, gradients, [lengths[self.rank]] * self.size, lengths)
        return received.view(self.size, -1).unbind()

    def broadcast(self, whole: Tensor) -> None:
        """Rank 0's values to all."""
        if self.size > 1:
            with self._copying() as dist:
                dist.broadcast(whole, 0)

    def gather(self, whole: Tensor) -> None:
        """Fill in everybody's slice, of which each has its own."""
        if self.size > 1:
            with self._copying() as dist:
                for rank, part in enumerate(self.slices):
                    if part.stop > part.start:
                        dist.broadcast(whole[part], rank)

    def gather_figures(self, mine: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """Everybody's few numbers, of so many each."""
        if self.size == 1:
            return [mine]
        found = [mine.new_empty(length) for length in lengths]
        found[self.rank] = mine
        with self._copying() as dist:
            for rank, figures in enumerate(found):
                if len(figures):
                    dist.broadcast(figures, rank)
        return found

    def collect(self, mine: Tensor, whole: Tensor) -> None:
        """Everybody's slice into rank 0's whole, which is in the CPU's memory, and used there."""
        if not self.leads:
            if len(mine):
                with self._copying() as dist:
                    dist.send(mine.cpu(), 0)
            return
        whole[self.slices[0]].copy_(mine)
        for rank in range(1, self.size):
            if self.slices[rank].stop > self.slices[rank].start:
                with self._copying() as dist:
                    dist.recv(whole[self.slices[rank]], rank)

    def hand_out(self, whole: Tensor, mine: Tensor) -> None:
        """The way back: a slice of rank 0's whole, in the CPU's memory, to each."""
        if self.leads:
            mine.copy_(whole[self.slices[0]])
            for rank in range(1, self.size):
                if self.slices[rank].stop > self.slices[rank].start:
                    with self._copying() as dist:
                        dist.send(whole[self.slices[rank]], rank)
        elif len(mine):
            received = torch.empty(len(mine))
            with self._copying() as dist:
                dist.recv(received, 0)
            mine.copy_(received)

    def all_true(self, mine: bool) -> bool:
        """Whether it is so on every rank."""
        figures = self.gather_figures(torch.tensor([float(mine)]), [1] * self.size)
        return all(bool(each.item()) for each in figures)

    @contextmanager
    def _copying(self) -> Iterator[ModuleType]:
        """A copy between ranks; raises `RankError` where one of them is gone."""
        import torch.distributed as dist  # noqa: PLC0415

        began, self.is_waiting = perf_counter(), True
        try:
            yield dist
        except RuntimeError as error:
            assert self.crew is not None
            raise self.crew.blame(error) from error
        finally:
            self.is_waiting = False
            self.waited_ms += (perf_counter() - began) * 1000


def slices_of(n_params: int, size: int) -> list[slice]:
    """As even as whole units allow, the last one's with what is left over; one may be empty."""
    units = n_params // SLICE_UNIT
    starts = [units * rank // size * SLICE_UNIT for rank in range(size)]
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], n_params], strict=True)]


def meeting_at(host: str, port: int, seconds: float, *, leads: bool) -> Any:
    """torch's store by which the ranks find each other; who leads listens at a free port for 0."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]  # noqa: PLC0415

    return TCPStore(
        host, port, is_master=leads, wait_for_workers=False, timeout=timedelta(seconds=seconds)
    )


def join(rank: int, size: int, crew: Crew, store: Any, seconds: float) -> Ranks:
    """Connect this process to the others, all of which are there; raises `RankError`.

    A copy fails after half as long again as the crew waits for a sign of life: that tells who.
    """
    import torch.distributed as dist  # noqa: PLC0415

    try:
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=1.5 * seconds),
        )
    except RuntimeError as error:
        raise crew.blame(error) from error
    return Ranks(rank=rank, size=size, crew=crew)
