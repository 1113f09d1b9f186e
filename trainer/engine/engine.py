"""The engine: one training step, one checkpoint's worth of state, and samples for the audit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.adamw import adamw

from trainer.engine.device import Placement, place
from trainer.engine.evaluation import evaluate_rows
from trainer.engine.gradient_norm import norm_of
from trainer.engine.model import KeyValues, Model, initialise
from trainer.engine.parameters import FlatParameters, as_memoryview
from trainer.engine.schedule import learning_rate
from trainer.rundir.checkpoints.checkpoint import Checkpoint, read_checkpoint_into
from trainer.rundir.config.rules import RULES
from trainer.rundir.config.settings import Settings

BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8
FIRST_LOSS_SCALE = 65536.0
"""fp16: where each step begins, so that a step is a pure function of weights and data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A step's figures; where one is not finite, the update was not applied."""

    loss: float
    """Mean over the batch in nats per token: a float32 value."""
    grad_norm: float
    """Global norm before clipping."""
    lr: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


class Engine:
    """Weights, m and v at `step` updates, and what can be done with them."""

    def __init__(self, settings: Settings) -> None:
        """Build the model and fill it from the seed; step 0. Raises `SettingsError`."""
        self.step = 0
        self.is_whole = True
        """Whether weights, m and v are those of `step`: not while an update changes them."""
        self.before_update: Callable[[], None] = lambda: None
        """Called before each update changes weights, m and v."""
        self.before_token: Callable[[], None] = lambda: None
        """Called before each token of a sample; may raise to give it up."""
        self.placement: Placement = place(settings.train)
        self._settings = settings
        self._rules = RULES[settings.rules]
        self._device = self.placement.device
        self.model = Model(settings.model)
        self.parameters = FlatParameters(self.model, self._device)
        self._loss = (
            torch.compile(self.model.loss)
            if settings.train.compile and self._device.type == "cuda"
            else self.model.loss
        )

    def initialise(self) -> None:
        """Fill the weights from the run's seed: a run's very beginning."""
        initialise(self.model, self._settings.seed)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Take weights, m, v and step from a checkpoint, read straight into place."""
        arrays = self.parameters.host_arrays()
        read_checkpoint_into(checkpoint, [as_memoryview(array) for array in arrays])
        self.parameters.load(arrays)
        self.step = checkpoint.step

    def train_step(self, rows: NDArray[np.int64]) -> StepResult:
        """One update from `rows` (rows, context + 1); not applied if anything is not finite."""
        inputs, targets = self._to_device(rows)
        number = self.step + 1
        lr = learning_rate(number, self._settings.train.total_steps, self._settings.optimizer)
        loss, grad_norm = self._finite_gradients(inputs, targets)
        result = StepResult(loss=loss, grad_norm=grad_norm, lr=lr)
        if not result.is_finite:
            return result
        max_grad_norm = self._settings.optimizer.max_grad_norm
        if grad_norm > max_grad_norm:
            self.parameters.gradients.mul_(max_grad_norm / grad_norm)
        self.before_update()
        self.is_whole = False
        self._update(lr)
        self.step, self.is_whole = number, True
        return result

    def evaluate(self, rows: NDArray[np.int64]) -> list[float]:
        """Mean loss of each of `rows` (rows, context + 1) in nats per token; changes nothing."""
        micro_batch = self._settings.train.micro_batch
        return evaluate_rows(self.model, self.placement, rows, micro_batch=micro_batch)

    @torch.inference_mode()
    def sample(
        self, prompt: Sequence[int], n_tokens: int, *, seed: int, temperature: float
    ) -> list[int]:
        """`n_tokens` drawn freely after `prompt`, from a generator of its own.

        A full context goes on from its last half, so that most tokens cost one position.
        """
        generator = torch.Generator().manual_seed(seed)
        draws = torch.rand(n_tokens, generator=generator, dtype=torch.float64).tolist()
        tokens = list(prompt)
        past: list[KeyValues] = []
        with self.placement.passes():
            for draw in draws:
                self.before_token()
                new = tokens[-1:]
                if not past or past[0].n_tokens == self.model.context:
                    past, new = self.model.empty_past(), tokens[-max(self.model.context // 2, 1) :]
                inputs = torch.tensor([new], device=self._device)
                logits_V = self.model.extend(inputs, past)[0].float().cpu()
                tokens.append(draw_token(logits_V / temperature, draw))
        return tokens[len(prompt) :]

    def _finite_gradients(self, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
        """Loss and gradient norm; in fp16 with the largest of the fixed scales that is finite."""
        scale = FIRST_LOSS_SCALE if self.placement.precision == "fp16" else 1.0
        while True:
            loss, grad_norm = self._gradients(inputs, targets, scale)
            if math.isfinite(grad_norm) or not math.isfinite(loss) or scale <= 1.0:
                return loss, grad_norm
            scale /= 2.0

    def _gradients(self, inputs: Tensor, targets: Tensor, scale: float) -> tuple[float, float]:
        gradients = self.parameters.gradients
        gradients.zero_()
        n_micro_steps = self._settings.grad_accum_steps
        total = torch.zeros((), device=self._device)
        for micro_inputs, micro_targets in zip(
            inputs.chunk(n_micro_steps), targets.chunk(n_micro_steps), strict=True
        ):
            with self.placement.passes():
                loss = self._loss(micro_inputs, micro_targets) / n_micro_steps
            (loss * scale).backward()
            total += loss.detach()
        if scale != 1.0:
            gradients.div_(scale)
        return total.item(), norm_of(gradients, self._rules)

    def _to_device(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        tokens = torch.from_numpy(rows).to(self._device)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    @torch.no_grad()
    def _update(self, lr: float) -> None:
        """AdamW (Loshchilov and Hutter 2019) with t the number of updates applied before.

        torch's own function, not its class: that loads the compiler, 1.6 s of every start.
        """
        parameters = self.parameters
        updates = torch.full((), float(self.step), device=self._device)
        adamw(
            [parameters.weights],
            [parameters.gradients],
            [parameters.m],
            [parameters.v],
            [],
            [updates],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=lr,
            weight_decay=self._settings.optimizer.weight_decay,
            eps=ADAM_EPS,
            maximize=False,
        )


def draw_token(logits_V: Tensor, draw: float) -> int:
    """The token at `draw`, in [0, 1), of the distribution's cumulated probabilities."""
    cumulated_V = torch.softmax(logits_V, dim=-1).cumsum(0, dtype=torch.float64).numpy()
    return int(cumulated_V.searchsorted(draw * cumulated_V[-1], side="right"))
