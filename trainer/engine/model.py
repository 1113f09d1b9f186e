"""The language model: learned positions, RMS norm without weights, squared ReLU, own head.

Shapes: B rows, T tokens, D width, H heads, K = D / H, V vocabulary, F = 4·D.
Every parameter belongs to a matrix; there is no bias and no norm weight.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trainer.engine.functions import cross_entropy, rms_norm, split_heads, squared_relu
from trainer.rundir.config.settings import ModelSettings

NORM_EPS = 1e-5


class KeyValues:
    """One layer's keys and values (B, H, T, K) of the tokens so far, with room for `room`."""

    def __init__(self, room: int) -> None:
        self.n_tokens = 0
        self._room = room
        self._buffers: tuple[Tensor, Tensor] | None = None

    def extend(self, k_BHTK: Tensor, v_BHTK: Tensor) -> tuple[Tensor, Tensor]:
        """Take in those of new tokens; all keys and values, as views."""
        n_rows, heads, n_new, size = k_BHTK.shape
        if self._buffers is None:
            shape = (n_rows, heads, self._room, size)
            self._buffers = (k_BHTK.new_empty(shape), v_BHTK.new_empty(shape))
        start, self.n_tokens = self.n_tokens, self.n_tokens + n_new
        for buffer, new in zip(self._buffers, (k_BHTK, v_BHTK), strict=True):
            buffer[:, :, start : self.n_tokens] = new
        keys, values = self._buffers
        return keys[:, :, : self.n_tokens], values[:, :, : self.n_tokens]


class Matrix(nn.Module):
    """A linear map without bias; `weight` is (out, in)."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)


class Layer(nn.Module):
    """Causal attention and a squared-ReLU MLP, each on the norm of the residual stream.

    Query, key and value are three (D, D) matrices that lie behind each other in the checkpoint;
    here they are one (3·D, D) matrix over the same bytes, so that they are one product.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads = settings.heads
        self.query_key_value = Matrix(width, 3 * width)
        self.output = Matrix(width, width)
        self.mlp_in = Matrix(width, 4 * width)
        self.mlp_out = Matrix(4 * width, width)

    def forward(self, x_BTD: Tensor, past: KeyValues | None = None) -> Tensor:
        """The layer's output (B, T, D).

        `past` takes in keys and values: of any number of tokens if it is empty, else of one
        token, which sees them all.
        """
        x_BTD = x_BTD + self.output(self._attend(rms_norm(x_BTD, NORM_EPS), past))
        hidden_BTF = squared_relu(self.mlp_in(rms_norm(x_BTD, NORM_EPS)))
        output_BTD: Tensor = x_BTD + self.mlp_out(hidden_BTF)
        return output_BTD

    def _attend(self, x_BTD: Tensor, past: KeyValues | None) -> Tensor:
        n_rows, n_tokens, width = x_BTD.shape
        qkv = self.query_key_value(x_BTD).view(n_rows, n_tokens, 3, self.heads, width // self.heads)
        q_BHTK, k_BHTK, v_BHTK = split_heads(qkv)
        is_causal = past is None or not past.n_tokens
        if past is not None:
            k_BHTK, v_BHTK = past.extend(k_BHTK, v_BHTK)
        y_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, is_causal=is_causal)
        return y_BHTK.transpose(1, 2).reshape(n_rows, n_tokens, width)


class Model(nn.Module):
    """Tokens in, logits out. `parameters()` yields them in the checkpoint's order."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.context = settings.context
        self.token_embedding = nn.Parameter(torch.empty(settings.vocab_size, settings.width))
        self.position_embedding = nn.Parameter(torch.empty(settings.context, settings.width))
        self.layers = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        self.head = Matrix(settings.width, settings.vocab_size)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Logits (B, T, V) for each next token; T at most the context."""
        x_BTD = self._embed(tokens_BT, 0)
        for layer in self.layers:
            x_BTD = layer(x_BTD)
        logits: Tensor = self.head(rms_norm(x_BTD, NORM_EPS))
        return logits

    def loss(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Mean cross-entropy in nats per token: a float32 scalar."""
        logits_BTV = self(tokens_BT)
        return cross_entropy(logits_BTV.flatten(0, 1).float(), targets_BT.flatten())

    def row_losses(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        """Mean cross-entropy of each row in nats per token: float32 (B,)."""
        logits_NV = self(tokens_BT).flatten(0, 1).float()
        losses_N = F.cross_entropy(logits_NV, targets_BT.flatten(), reduction="none")
        return losses_N.view(targets_BT.shape).mean(dim=1)

    def empty_past(self) -> list[KeyValues]:
        """What `extend` keeps of a text: a layer each, with room for a context."""
        return [KeyValues(self.context) for _ in self.layers]

    def extend(self, tokens_BT: Tensor, past: list[KeyValues]) -> Tensor:
        """Logits (B, V) after the last token; `past` takes the tokens in."""
        x_BTD = self._embed(tokens_BT, past[0].n_tokens)
        for layer, key_values in zip(self.layers, past, strict=True):
            x_BTD = layer(x_BTD, key_values)
        logits: Tensor = self.head(rms_norm(x_BTD[:, -1], NORM_EPS))
        return logits

    def _embed(self, tokens_BT: Tensor, start: int) -> Tensor:
        positions_TD = self.position_embedding[start : start + tokens_BT.shape[1]]
        return F.embedding(tokens_BT, self.token_embedding) + positions_TD


def initialise(model: Model, seed: int) -> None:
    """Fill the weights from `seed`: normal, 0.02; residual outputs by 1/√(2·layers) less.

    As GPT-2 (Radford et al. 2019, section 2.3). On the CPU, so that all devices begin alike.
    """
    generator = torch.Generator().manual_seed(seed)
    residual = 0.02 / (2 * len(model.layers)) ** 0.5
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_residual = name.endswith(("output.weight", "mlp_out.weight"))
            std = residual if is_residual else 0.02
            values = torch.empty(parameter.shape).normal_(0.0, std, generator=generator)
            parameter.copy_(values)
