import dataclasses
from typing import Any

import pytest

from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import ArmPolicy, ModelSettings, SourceSettings
from trainer.rundir.outcomes import SettingsError

MODEL: dict[str, Any] = {"vocab_size": 512, "context": 8, "layers": 2, "heads": 2, "width": 16}


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("seed = -1", "seed"),
        ("seed = 2147483648", "seed"),
        ("model.vocab_size = 256", "model.vocab_size"),
        ("model.context = 0", "model.context"),
        ("model.layers = 0", "model.layers"),
        ("model.heads = -4", "model.heads"),
        ("model.heads = 3", "model.width"),
        ("model.heads = 256", "model.width"),
        ("model.width = 16384", "model"),
        ("train.total_steps = 0", "train.total_steps"),
        ("train.total_steps = 2147483648", "train.total_steps"),
        ("train.batch_tokens = 1000", "train.batch_tokens"),
        ("train.micro_batch = 0", "train.micro_batch"),
        ('train.device = "gpu"', "train.device"),
        ('train.device = "cuda:"', "train.device"),
        ('train.device = "cuda:²"', "train.device"),
        ('train.precision = "fp8"', "train.precision"),
        ("optimizer.lr = 0", "optimizer.lr"),
        ("optimizer.lr = inf", "optimizer.lr"),
        ("optimizer.lr = nan", "optimizer.lr"),
        ("optimizer.min_lr = 1", "optimizer.min_lr"),
        ("optimizer.min_lr = nan", "optimizer.min_lr"),
        ("optimizer.warmup_steps = -1", "optimizer.warmup_steps"),
        ("optimizer.warmup_steps = 2000", "optimizer.warmup_steps"),
        ("optimizer.weight_decay = -0.1", "optimizer.weight_decay"),
        ("optimizer.weight_decay = inf", "optimizer.weight_decay"),
        ("optimizer.max_grad_norm = 0", "optimizer.max_grad_norm"),
        ("checkpoint.every = 0", "checkpoint.every"),
        ("checkpoint.keep_last = -1", "checkpoint.keep_last"),
        ("checkpoint.keep_every = 0", "checkpoint.keep_every"),
        ("audit.tokens = 0", "audit.tokens"),
        ("audit.tokens = 9223372036854775807", "audit.tokens"),
        ("audit.tokens = 500001\naudit.prompts = ['a']", "audit.tokens"),
        ("audit.prompts = 'a'", "audit.prompts"),
        ("audit.prompts = [1]", "audit.prompts"),
        ("audit.prompts = ['']", "audit.prompts"),
        ("audit.prompts = ['a', 'b', 'a']", "audit.prompts"),
        (f"audit.prompts = ['{'a' * 64}']", "audit.prompts"),
        (f"audit.prompts = ['{'é' * 32}']", "audit.prompts"),
        ("audit.threshold = 100.5", "audit.threshold"),
        ("audit.threshold = nan", "audit.threshold"),
        ("audit.patience = -1", "audit.patience"),
        ('sources.mine.path = " "', "sources.mine.path"),
        ("policy.stdlib-docs.floor = -1", "policy.stdlib-docs"),
        ("policy.stdlib-docs.cap = inf", "policy.stdlib-docs"),
        ("policy.stdlib-docs = {floor = 0.5, cap = 0.4}", "policy.stdlib-docs"),
        ('sources.a.path = "x"\npolicy.a.cap = 0', "policy"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_setting(text: str, setting: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        parse_settings(text)
    assert str(refusal.value).partition(": ")[0] == setting


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_devices_that_torch_knows_are_taken(device: str) -> None:
    assert parse_settings(f'train.device = "{device}"').train.device == device


@pytest.mark.parametrize(
    "text",
    [
        "train.total_steps = 2147483647",
        "optimizer.warmup_steps = 0",
        "optimizer.min_lr = 0",
        "optimizer.min_lr = 1e-3",
        "optimizer.weight_decay = 0",
        "audit.threshold = 0",
        "audit.threshold = 100",
        "audit.patience = 0",
        "model.vocab_size = 257",
        "policy.stdlib-docs = {floor = 2, cap = 2}",
    ],
)
def test_values_on_the_border_are_taken(text: str) -> None:
    parse_settings(text)


def test_the_parameters_are_those_of_the_layout_by_hand() -> None:
    embeddings, head = (512 + 8) * 16, 512 * 16
    layer = 4 * 16 * 16 + 2 * 4 * 16 * 16
    assert ModelSettings(**MODEL).n_params == embeddings + 2 * layer + head


def test_a_batch_is_rows_and_the_rows_are_micro_batches() -> None:
    settings = parse_settings("train.batch_tokens = 4096\ntrain.micro_batch = 4")
    assert (settings.rows, settings.grad_accum_steps) == (32, 8)


def test_settings_can_not_be_changed_once_made() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ArmPolicy().cap = 2.0  # type: ignore[misc]


def test_each_part_is_validated_where_it_is_made() -> None:
    with pytest.raises(SettingsError, match="floor 2 and cap 1"):
        ArmPolicy(floor=2, cap=1)
    with pytest.raises(SettingsError, match="is empty"):
        SourceSettings(path="")
