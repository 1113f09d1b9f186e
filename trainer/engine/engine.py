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
from trainer.engine.gradient_norm import norm_over
from trainer.engine.gradient_sum import GradientSum
from trainer.engine.model import KeyValues, Model, initialise
from trainer.engine.parameters import FlatParameters, as_memoryview
from trainer.engine.ranks import Ranks
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

    def __init__(self, settings: Settings, ranks: Ranks | None = None) -> None:
        """Build the model, unfilled; step 0. Raises `SettingsError`."""
        self.ranks = ranks or Ranks()
        settings.require_ranks(self.ranks.size)
        self.step = 0
        self.is_whole = True
        """Whether weights, m and v are those of `step`: not while an update changes them."""
        self.before_update: Callable[[], None] = lambda: None
        """Called before each update changes weights, m and v."""
        self.before_micro_step: Callable[[], None] = lambda: None
        """Called before each pass of a step; may raise to give the step up."""
        self.before_token: Callable[[], None] = lambda: None
        """Called before each token of a sample; may raise to give it up."""
        self.placement: Placement = place(settings.train, self.ranks.local)
        self._settings = settings
        self._rules = RULES[settings.rules]
        self._device = self.placement.device
        self.model = Model(settings.model)
        self.parameters = FlatParameters(self.model, self._device, self.ranks)
        self._sum = GradientSum(
            self.parameters.gradients,
            self.parameters.own,
            self.ranks,
            is_plain=self.ranks.size == 1 and settings.n_shares in (1, settings.grad_accum_steps),
        )
        self._loss = (
            torch.compile(self.model.loss)
            if settings.train.compile and self._device.type == "cuda"
            else self.model.loss
        )

    def initialise(self) -> None:
        """Fill the weights from the run's seed: a run's very beginning."""
        initialise(self.model, self._settings.seed)
        with self.ranks.together("begin"):
            self.parameters.load(self.parameters.host_arrays())

    def resume(self, checkpoint: Checkpoint) -> None:
        """Take weights, m, v and step from a checkpoint, read straight into place."""
        arrays = self.parameters.host_arrays()
        read_checkpoint_into(checkpoint, [as_memoryview(array) for array in arrays])
        with self.ranks.together(f"resume {checkpoint.step}"):
            self.parameters.load(arrays)
        self.step = checkpoint.step

    def follow(self, step: int) -> None:
        """Of another rank than 0: take its part of what rank 0 begins with, or resumes from."""
        self.parameters.load(self.parameters.host_arrays())
        self.step = step

    def are_finite(self) -> bool:
        """Whether no weight, m or v of any rank is NaN or infinite."""
        with self.ranks.together("finite"):
            return self.ranks.all_true(self.parameters.are_finite)

    def train_step(self, rows: NDArray[np.int64] | None) -> StepResult:
        """One update from `rows` (rows, context + 1); not applied if anything is not finite.

        Of several ranks, rank 0 gives the rows, and each computes its shares of them.
        """
        with self.ranks.together("step"):
            return self._step(rows)

    def _step(self, rows: NDArray[np.int64] | None) -> StepResult:
        self.ranks.waited_ms = 0.0
        shape = (self._settings.rows, self._settings.model.context + 1)
        rows = self.ranks.share_rows(rows, shape, self._settings.n_shares)
        inputs, targets = self._to_device(rows)
        number = self.step + 1
        lr = learning_rate(number, self._settings.train.total_steps, self._settings.optimizer)
        loss, grad_norm = self._finite_gradients(inputs, targets)
        result = StepResult(loss=loss, grad_norm=grad_norm, lr=lr)
        if not result.is_finite:
            return result
        max_grad_norm = self._settings.optimizer.max_grad_norm
        if grad_norm > max_grad_norm:
            self._sum.own.mul_(max_grad_norm / grad_norm)
        self.before_update()
        self.is_whole = False
        self._update(lr)
        self.ranks.gather(self.parameters.weights)
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
        """The shares' gradients, added up in their order; loss and norm of the whole step."""
        n_shares = self._settings.n_shares // self.ranks.size
        losses: list[Tensor] = []
        self._sum.begin()
        for share in zip(inputs.chunk(n_shares), targets.chunk(n_shares), strict=True):
            losses += self._accumulate(*share, scale)
            self._sum.take()
        if scale != 1.0:
            self._sum.own.div_(scale)
        loss = self._loss_of(losses)
        norm = norm_over(self.ranks, self._sum.own, self.parameters.gradients, self._rules)
        return loss, norm

    def _accumulate(self, inputs: Tensor, targets: Tensor, scale: float) -> list[Tensor]:
        """Add a share's gradient to the buffer; its micro-batches' parts of the loss."""
        n_micro_steps = self._settings.grad_accum_steps
        n_own = n_micro_steps // self._settings.n_shares
        losses = []
        for micro_inputs, micro_targets in zip(
            inputs.chunk(n_own), targets.chunk(n_own), strict=True
        ):
            self.before_micro_step()
            with self.placement.passes():
                loss = self._loss(micro_inputs, micro_targets) / n_micro_steps
            (loss * scale).backward()
            losses.append(loss.detach())
        return losses

    def _loss_of(self, own: list[Tensor]) -> float:
        """The sum over all micro-batches in their order, a float32 value."""
        size = self.ranks.size
        gathered = self.ranks.gather_figures(torch.stack(own), [len(own)] * size)
        n_rounds = self._settings.n_shares // size
        in_order = torch.stack([each.view(n_rounds, -1) for each in gathered], dim=1)
        total = torch.zeros(())
        for loss in in_order.flatten().cpu():
            total += loss
        return total.item()

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
            [parameters.weights[parameters.own]],
            [self._sum.own],
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
