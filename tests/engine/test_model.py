"""The model: its shapes, its parameters' order, its cache."""

import pytest
import torch

from trainer.engine.model import Layer, Model, initialise
from trainer.engine.parameters import FlatParameters
from trainer.rundir.config.settings import ModelSettings

TINY = ModelSettings(vocab_size=300, context=16, layers=2, heads=2, width=16)


@pytest.fixture
def model() -> Model:
    model = Model(TINY)
    initialise(model, seed=3)
    return model.eval()


def tokens(n_rows: int, n_tokens: int) -> torch.Tensor:
    return torch.randint(300, (n_rows, n_tokens), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("shape", "n_params"),
    [
        (ModelSettings(vocab_size=2305, context=1024, layers=6, heads=12, width=384), 12_780_288),
        (
            ModelSettings(vocab_size=22_400, context=1024, layers=12, heads=12, width=768),
            120_127_488,
        ),
        (ModelSettings(vocab_size=8449, context=1024, layers=12, heads=12, width=768), 98_698_752),
    ],
)
def test_model_has_the_published_number_of_parameters(shape: ModelSettings, n_params: int) -> None:
    with torch.device("meta"):
        model = Model(shape)
    assert sum(parameter.numel() for parameter in model.parameters()) == n_params
    assert shape.n_params == n_params


def test_parameters_come_in_the_order_of_the_checkpoint() -> None:
    with torch.device("meta"):
        names = [name for name, _ in Model(TINY).named_parameters()]
    layer = ["query_key_value", "output", "mlp_in", "mlp_out"]
    assert names == [
        "token_embedding",
        "position_embedding",
        *(f"layers.{index}.{name}.weight" for index in range(2) for name in layer),
        "head.weight",
    ]


def test_query_key_and_value_lie_behind_each_other(model: Model) -> None:
    flat = FlatParameters(model, torch.device("cpu"))
    start = (300 + 16) * 16
    flat.weights[start : start + 16 * 16] = 1.0
    flat.weights[start + 16 * 16 : start + 2 * 16 * 16] = 2.0
    flat.weights[start + 2 * 16 * 16 : start + 3 * 16 * 16] = 3.0
    matrix = model.layers[0].get_parameter("query_key_value.weight")
    assert matrix[:16].eq(1).all()
    assert matrix[16:32].eq(2).all()
    assert matrix[32:].eq(3).all()


def test_a_token_sees_only_what_is_before_it(model: Model) -> None:
    before = tokens(1, 12)
    after = before.clone()
    after[0, 8:] = 5
    with torch.no_grad():
        assert torch.equal(model(before)[0, :8], model(after)[0, :8])


def test_cached_extension_gives_the_logits_of_a_whole_pass(model: Model) -> None:
    row = tokens(1, 16)
    past = model.empty_past()
    with torch.no_grad():
        whole = model(row)[0]
        logits = model.extend(row[:, :5], past)
        torch.testing.assert_close(logits[0], whole[4])
        for position in range(5, 16):
            logits = model.extend(row[:, position : position + 1], past)
            torch.testing.assert_close(logits[0], whole[position])


def test_loss_of_a_fresh_model_is_near_that_of_an_even_guess(model: Model) -> None:
    row = tokens(4, 16)
    with torch.no_grad():
        loss = model.loss(row[:, :-1], row[:, 1:]).item()
    assert loss == pytest.approx(torch.tensor(300.0).log().item(), abs=0.1)


def test_attention_is_that_of_the_formula(model: Model) -> None:
    layer = model.layers[0]
    assert isinstance(layer, Layer)
    x = torch.randn(1, 6, 16, generator=torch.Generator().manual_seed(2))
    weight = layer.get_parameter("query_key_value.weight")
    query, key, value = (x @ weight.T).chunk(3, dim=-1)
    heads = []
    for head in range(2):
        part = slice(8 * head, 8 * head + 8)
        scores = query[0, :, part] @ key[0, :, part].T / 8**0.5
        scores = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
        heads.append(scores.softmax(-1) @ value[0, :, part])
    attended = layer._attend(x, None)
    torch.testing.assert_close(attended[0], torch.cat(heads, dim=-1))


# torch's own tracer makes an instance of the autograd function, and torch warns of it
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_loss_is_compiled_as_one_graph(model: Model) -> None:
    row = tokens(2, 16)
    compiled = torch.compile(model.loss, backend="aot_eager", fullgraph=True)
    compiled(row[:, :-1], row[:, 1:]).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    model.loss(row[:, :-1], row[:, 1:]).backward()
    torch.testing.assert_close(gradients, [parameter.grad for parameter in model.parameters()])
