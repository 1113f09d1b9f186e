import pytest

from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes
from trainer.rundir.config.presets import DEFAULT_SOURCES, PRESETS
from trainer.rundir.config.run_toml import parse_settings


@pytest.mark.parametrize(
    ("text", "n_params"),
    [
        ('preset = "andrea-12m"', 12_780_288),
        ('preset = "andrea-120m"', 120_127_488),
        ('preset = "andrea-120m"\nmodel.vocab_size = 8449', 98_698_752),
    ],
)
def test_presets_have_the_published_number_of_parameters(text: str, n_params: int) -> None:
    assert parse_settings(text).model.n_params == n_params


@pytest.mark.parametrize(
    ("preset", "n_bytes"), [("andrea-12m", 153_363_464), ("andrea-120m", 1_441_529_864)]
)
def test_checkpoints_of_the_presets_have_the_published_size(preset: str, n_bytes: int) -> None:
    settings = parse_settings(f'preset = "{preset}"')
    assert checkpoint_bytes(settings.model.n_params) == n_bytes


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_is_a_valid_run_by_itself(preset: str) -> None:
    settings = parse_settings(f'preset = "{preset}"')
    assert settings.preset == preset
    assert settings.rows == settings.grad_accum_steps * settings.train.micro_batch
    assert {name: source.path for name, source in settings.sources.items()} == DEFAULT_SOURCES
