"""The engine: an update is AdamW's, a step is a pure function, samples leave no trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from trainer.engine import engine as engine_module
from trainer.engine.engine import Engine, draw_token
from trainer.engine.gradient_norm import norm_of
from trainer.engine.parameters import as_memoryview
from trainer.engine.ranks import Ranks
from trainer.engine.schedule import learning_rate
from trainer.rundir.checkpoints.checkpoint import list_checkpoints, write_checkpoint
from trainer.rundir.config.rules import RULES, Rules
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import Settings, SourceSettings
from trainer.rundir.outcomes import HistoryError, SettingsError

SETTINGS = parse_settings("""
[model]
vocab_size = 300
context = 16
layers = 2
heads = 2
width = 16
[train]
total_steps = 100
batch_tokens = 128
micro_batch = 4
device = "cpu"
[optimizer]
lr = 3e-3
min_lr = 3e-4
warmup_steps = 4
""")


def rows(seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 300, (8, 17))


def fresh(settings: Settings = SETTINGS) -> Engine:
    engine = Engine(settings)
    engine.initialise()
    return engine


def test_update_is_that_of_adamw_parameter_by_parameter() -> None:
    engine, reference = fresh(), fresh()
    parameters = list(reference.model.parameters())
    adamw = torch.optim.AdamW(parameters, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
    for number in range(1, 4):
        batch = rows(number)
        engine.train_step(batch)
        tokens = torch.from_numpy(batch)
        for parameter in parameters:
            parameter.grad = None
        reference.model.loss(tokens[:, :-1], tokens[:, 1:]).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        adamw.param_groups[0]["lr"] = learning_rate(number, 100, SETTINGS.optimizer)
        adamw.step()
    torch.testing.assert_close(engine.parameters.weights, reference.parameters.weights)


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    whole = replace(SETTINGS, train=replace(SETTINGS.train, micro_batch=8))
    in_parts, at_once = fresh(), fresh(whole)
    parts, one = in_parts.train_step(rows()), at_once.train_step(rows())
    assert parts.loss == pytest.approx(one.loss, rel=1e-6)
    assert parts.grad_norm == pytest.approx(one.grad_norm, rel=1e-5)


def test_the_same_step_twice_gives_the_same_bits() -> None:
    first, second = fresh(), fresh()
    assert first.train_step(rows()) == second.train_step(rows())
    assert torch.equal(first.parameters.weights, second.parameters.weights)


@pytest.mark.parametrize("rules", RULES)
def test_clipping_goes_by_the_norm_that_is_recorded(
    rules: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = fresh(replace(SETTINGS, rules=rules))
    asked: list[Rules] = []

    def four_times(_: Ranks, own_N: torch.Tensor, __: torch.Tensor, rules: Rules) -> float:
        asked.append(rules)
        return 4 * norm_of(own_N, rules)

    monkeypatch.setattr(engine_module, "norm_over", four_times)
    result = engine.train_step(rows())
    assert result.grad_norm > 1.0
    assert asked == [RULES[rules]]
    assert 4 * norm_of(engine.parameters.gradients, RULES[2]) == pytest.approx(1.0, rel=1e-5)


def test_adams_t_goes_on_after_a_resume(tmp_path: Path) -> None:
    engine = fresh()
    for number in range(3):
        engine.train_step(rows(number))
    write_checkpoint(tmp_path, engine.step, state_views(engine))
    resumed = Engine(SETTINGS)
    newest = list_checkpoints(tmp_path, SETTINGS.model.n_params).newest
    assert newest is not None
    resumed.resume(newest)
    assert resumed.step == 3
    assert resumed.train_step(rows(9)) == engine.train_step(rows(9))
    assert torch.equal(resumed.parameters.weights, engine.parameters.weights), "it depends on t"
    assert torch.equal(resumed.parameters.v, engine.parameters.v)


def state_views(engine: Engine) -> list[memoryview]:
    return [as_memoryview(array) for array in engine.parameters.host_arrays()]


def test_checkpoint_cut_after_it_was_listed_is_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 0, state_views(fresh()))
    newest = list_checkpoints(tmp_path, SETTINGS.model.n_params).newest
    assert newest is not None
    with newest.path.open("r+b") as file:
        file.truncate(newest.n_bytes - 4)
    with pytest.raises(HistoryError, match="ends early"):
        Engine(SETTINGS).resume(newest)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_update_is_not_applied_where_anything_is_not_finite(value: float) -> None:
    engine = fresh()
    engine.train_step(rows())
    engine.parameters.weights[0] = value
    before = [tensor.clone() for tensor in (engine.parameters.m, engine.parameters.v)]
    batch = rows()
    batch[:, 0] = 0  # the token whose embedding holds the value
    result = engine.train_step(batch)
    assert not result.is_finite
    assert engine.step == 1
    assert torch.equal(engine.parameters.m, before[0])
    assert torch.equal(engine.parameters.v, before[1])


def test_loss_scale_is_halved_until_the_gradients_are_finite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = fresh()
    scales = []

    def overflowing(inputs: object, targets: object, scale: float) -> tuple[float, float]:
        scales.append(scale)
        return 2.0, float("inf") if scale > 4096 else 1.0

    monkeypatch.setattr(engine, "_gradients", overflowing)
    monkeypatch.setattr(engine, "placement", replace(engine.placement, precision="fp16"))
    assert engine.train_step(rows()).is_finite
    assert scales == [65536.0, 32768.0, 16384.0, 8192.0, 4096.0]
    scales.clear()
    monkeypatch.setattr(engine_module, "FIRST_LOSS_SCALE", 8192.0)
    engine.train_step(rows())
    assert scales == [8192.0, 4096.0], "each step begins at the fixed scale"


def test_gradient_that_no_scale_makes_finite_is_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = fresh()
    scales = []

    def overflowing(inputs: object, targets: object, scale: float) -> tuple[float, float]:
        scales.append(scale)
        return 2.0, float("inf")

    monkeypatch.setattr(engine, "_gradients", overflowing)
    monkeypatch.setattr(engine, "placement", replace(engine.placement, precision="fp16"))
    assert not engine.train_step(rows()).is_finite
    assert scales[-1] == 1.0
    assert engine.step == 0


def test_scaled_gradients_are_those_without_a_scale() -> None:
    engine = fresh()
    tokens = torch.from_numpy(rows())
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    plain = engine._gradients(inputs, targets, 1.0), engine.parameters.gradients.clone()
    scaled = engine._gradients(inputs, targets, 1024.0), engine.parameters.gradients
    assert plain[0] == scaled[0]
    assert torch.equal(plain[1], scaled[1]), "a power of two changes no bit"


def test_sample_and_evaluation_leave_state_and_random_numbers_alone() -> None:
    engine = fresh()
    weights, random_state = engine.parameters.weights.clone(), torch.get_rng_state()
    engine.sample([0], 40, seed=5, temperature=0.8)
    engine.evaluate(rows())
    assert torch.equal(engine.parameters.weights, weights)
    assert torch.equal(torch.get_rng_state(), random_state)


def test_sample_goes_on_past_the_context_and_repeats_by_its_seed() -> None:
    engine = fresh()
    first = engine.sample([0], 50, seed=5, temperature=0.8)
    assert len(first) == 50
    assert all(0 <= token < 300 for token in first)
    assert engine.sample([0], 50, seed=5, temperature=0.8) == first
    assert engine.sample([0], 50, seed=6, temperature=0.8) != first


@pytest.mark.parametrize(
    ("draw", "token"),
    [(0.0, 1), (0.19, 1), (0.21, 2), (0.49, 2), (0.51, 4), (0.9999999999, 4)],
)
def test_a_draw_picks_its_share_and_never_what_is_impossible(draw: float, token: int) -> None:
    logits_V = torch.tensor([0.0, 0.2, 0.3, 0.0, 0.5, 0.0]).log()
    assert draw_token(logits_V, draw) == token


def test_sample_can_be_given_up() -> None:
    engine = fresh()
    asked = []

    def give_up() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise InterruptedError

    engine.before_token = give_up
    with pytest.raises(InterruptedError):
        engine.sample([0], 50, seed=5, temperature=0.8)


def test_evaluation_gives_each_rows_mean_whatever_the_micro_batch() -> None:
    engine = fresh()
    batch = rows()
    tokens = torch.from_numpy(batch)
    with torch.no_grad():
        whole = engine.model.loss(tokens[:, :-1], tokens[:, 1:]).item()
    assert np.mean(engine.evaluate(batch)) == pytest.approx(whole, rel=1e-6)
    for number in range(5):
        alone = engine.evaluate(batch[number : number + 1])
        assert engine.evaluate(batch)[number] == pytest.approx(alone[0], rel=1e-5)


def test_a_few_steps_learn_a_repeated_row() -> None:
    engine = fresh()
    batch = np.tile(rows()[:1], (8, 1))
    losses = [engine.train_step(batch).loss for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"device": "cuda:7"}, "train.device"),
        ({"precision": "bf16"}, "train.precision"),
    ],
)
def test_device_or_precision_that_is_not_there_names_its_setting(
    change: dict[str, str], setting: str
) -> None:
    settings = replace(
        SETTINGS,
        train=replace(SETTINGS.train, **change),  # type: ignore[arg-type]
        sources={"any": SourceSettings(path="python:docs")},
    )
    with pytest.raises(SettingsError, match=setting):
        Engine(settings)
