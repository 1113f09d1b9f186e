"""A checkpoint's weights alone, to take losses with: no gradients, no m and v."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from trainer.engine.device import Placement, place
from trainer.engine.model import Model
from trainer.engine.parameters import as_memoryview
from trainer.rundir.checkpoints.checkpoint import Checkpoint, read_checkpoint_into
from trainer.rundir.config.settings import Settings
from trainer.rundir.outcomes import RunError

_SHARE_OF_FREE = 0.5
"""Of a card's free memory: the rest is for whoever trains on it."""


@torch.inference_mode()
def evaluate_rows(
    model: Model, placement: Placement, rows: NDArray[np.int64], *, micro_batch: int
) -> list[float]:
    """Mean loss of each of `rows` (rows, at most context + 1) in nats per token."""
    losses: list[float] = []
    for start in range(0, len(rows), micro_batch):
        tokens = torch.from_numpy(rows[start : start + micro_batch]).to(placement.device)
        with placement.passes():
            passed = model.row_losses(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
            losses += passed.tolist()
    return losses


class SavedModel:
    """The model of a checkpoint, beside a trainer that may use the same card."""

    def __init__(self, settings: Settings, checkpoint: Checkpoint, *, device: str = "") -> None:
        """`device`: another one than the run's; the precision follows it then.

        Raises `SettingsError`, `HistoryError`, `OSError`; `RunError` where the card is too full.
        """
        train = settings.train
        if device and device != train.device:
            train = replace(train, device=device, precision="auto")
        self.placement = place(train)
        self._micro_batch = train.micro_batch
        self.model = Model(settings.model)
        weights = [as_memoryview(each.data.view(-1)) for each in self.model.parameters()]
        read_checkpoint_into(checkpoint, weights)
        if self.placement.device.type == "cuda":
            _leave_room(self.placement.device)
        with _card_room():
            self.model.to(self.placement.device)

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        """As `evaluate_rows`; raises `RunError` where the card is too full."""
        with _card_room():
            return evaluate_rows(self.model, self.placement, rows, micro_batch=self._micro_batch)

    @torch.inference_mode()
    def batch_loss(self, rows: NDArray[np.int64]) -> float:
        """What a step on this batch (rows, context + 1) would record, bit for bit.

        Raises `RunError` where the card is too full.
        """
        n_micro_steps = len(rows) // self._micro_batch
        total = torch.zeros((), device=self.placement.device)
        with _card_room(), self.placement.passes():
            for micro in torch.from_numpy(rows).to(self.placement.device).chunk(n_micro_steps):
                inputs, targets = micro[:, :-1].contiguous(), micro[:, 1:].contiguous()
                total += self.model.loss(inputs, targets) / n_micro_steps
        return float(total.item())


def _leave_room(device: torch.device) -> None:
    """Take no more than half of what is free on the card."""
    free, total = torch.cuda.mem_get_info(device)
    torch.cuda.set_per_process_memory_fraction(_SHARE_OF_FREE * free / total, device)


@contextmanager
def _card_room() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise RunError(
            "the card has no room for it beside what it holds: wait until it has, or take the"
            " processor by --device cpu"
        ) from error
