import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rundir.config.presets import PRESETS
from trainer.rundir.config.rules import NEWEST_RULES
from trainer.rundir.config.run_toml import (
    flat_settings,
    load_settings,
    parse_settings,
    render_new_run,
)
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SettingsError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_ODD = ["a.b", "two words", "'", '"', "\\", "é", "日本", "-", "#", "[x]", "\n", "\t", "\0", "\x7f"]


def test_a_silent_file_is_the_demo() -> None:
    assert parse_settings("") == parse_settings('preset = "demo"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", "sed: no such setting; did you mean seed?"),
        ("[modle]", "modle: no such setting; did you mean model?"),
        (
            "train.batch_token = 1",
            "train.batch_token: no such setting; did you mean train.batch_tok",
        ),
        ("zzz = 1", "zzz: no such setting; known: preset, rules, seed, model"),
        ('[sources.a]\npath = "x"\nfiel = "y"', "sources.a.fiel: .* did you mean sources.a.field?"),
        ("policy.stdlib-doc.cap = 1", "policy.stdlib-doc: no such source; did you .*stdlib-docs?"),
        (
            "policy.stdlib-docs.ca = 1",
            "policy.stdlib-docs.ca: .* did you mean policy.stdlib-docs.cap",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest_known(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{message}"):
        parse_settings(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset = 3", "preset: 3 is none of demo"),
        ('preset = ["demo"]', r"preset: \['demo'\] is none of"),
        ('preset = "andrea"', "preset: 'andrea' is none of demo, andrea-12m"),
        ("seed = true", "seed: True is not a whole number"),
        ('seed = "1"', "seed: '1' is not a whole number"),
        ("seed = 1.0", "seed: 1.0 is not a whole number"),
        (f"seed = 1{'0' * 400}", "seed: more than 64 bits"),
        ("train.total_steps = 1979-05-27", "train.total_steps: .* is not a whole number"),
        ("train.compile = 1", "train.compile: 1 is not true or false"),
        ("train.device = 0", "train.device: 0 is not a string"),
        ("optimizer.lr = true", "optimizer.lr: True is not a number"),
        (f"optimizer.lr = 1{'0' * 400}", "optimizer.lr: more than 64 bits"),
        ('trainer.command = "a b"', "trainer.command: 'a b' is not a list of strings"),
        ("trainer.command = [1]", r"trainer.command: \[1\] is not a list of strings"),
        ("model = 3", r"model: write it as a table: \[model\]"),
        ("[[model]]", r"model: write it as a table: \[model\]"),
        ('sources = "x"', r"sources: write it as a table: \[sources\]"),
        ('sources.docs = "x"', r"sources.docs: write it as a table: \[sources.docs\]"),
        ("policy.stdlib-docs = 1", r"policy.stdlib-docs: write it as a table"),
        ('sources."".path = "x"', 'sources."": a source needs a name'),
        ("[sources.mine]", "sources.mine.path: is missing"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{message}"):
        parse_settings(text)


def test_whole_numbers_are_numbers() -> None:
    settings = parse_settings("audit.threshold = 30\noptimizer.weight_decay = 0")
    assert type(settings.audit.threshold) is type(settings.optimizer.weight_decay) is float


def test_given_sources_replace_the_default_ones_and_a_preset_fills_the_rest() -> None:
    settings = parse_settings('preset = "andrea-12m"\nmodel.layers = 2\nsources.a.path = "x"')
    assert settings.sources == {"a": SourceSettings(path="x")}
    assert (settings.model.layers, settings.model.width) == (2, 384)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"seed = ", "not valid TOML"),
        (b"seed = 1\nseed = 2", "not valid TOML"),
        (b"seed = 1979-99-99", "not valid TOML"),
        (b"seed = " + b"9" * 5_000, "not valid TOML"),
        (b"seed = " + b"[" * 5_000, "not valid TOML"),
        (b"\xff", "can't be read"),
        (b"sed = 1", "sed: no such setting"),
    ],
)
def test_every_error_names_the_file(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=message) as refusal:
        load_settings(path)
    assert str(refusal.value).startswith(f"{path}: ")


def test_a_missing_file_tells_how_a_run_is_made(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"not there; `andrea-console {tmp_path}` makes"):
        load_settings(tmp_path / "run.toml")
    with pytest.raises(SettingsError, match="can't be read"):
        load_settings(tmp_path)


def _flat(written: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in written.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_file_has_every_setting_in_sight_and_means_the_preset(preset: str) -> None:
    sources = {"mine": SourceSettings(path="/text/*.txt")}
    text = render_new_run(preset, sources, ("./engine", "--fast"))
    settings = parse_settings(text)
    silent = parse_settings(f'preset = "{preset}"\nrules = {NEWEST_RULES}')
    assert settings.trainer.command == ("./engine", "--fast")
    assert settings.rules == NEWEST_RULES
    assert settings.policy == {"mine": settings.default_bounds}
    assert settings == replace(
        silent, sources=settings.sources, policy=settings.policy, trainer=settings.trainer
    )
    written = tomllib.loads(text)
    shown = {
        key: value
        for key, value in flat_settings(settings).items()
        if not key.startswith("sources.mine.") or key.endswith(".path")
    }
    assert set(_flat(written)) == set(shown)


@pytest.mark.parametrize("odd", _ODD)
def test_odd_names_and_paths_are_read_back_as_they_were(odd: str) -> None:
    sources = {odd: SourceSettings(path=f"/{odd}/*"), "x": SourceSettings(path="y", field=odd)}
    settings = parse_settings(render_new_run("demo", sources, (odd,)))
    assert settings.sources == sources
    assert set(settings.policy) == set(sources)
    assert settings.trainer.command == (odd,)


@given(name=_TEXT, path=_TEXT.filter(str.strip))
def test_any_name_and_path_is_read_back_as_it_was(name: str, path: str) -> None:
    sources = {name: SourceSettings(path=path)}
    assert parse_settings(render_new_run("demo", sources)).sources == sources


def test_a_name_that_toml_can_not_hold_is_refused() -> None:
    with pytest.raises(SettingsError, match="not valid UTF-8"):
        render_new_run("demo", {"a": SourceSettings(path="/text\udcff")})


def test_flat_settings_name_each_value_once() -> None:
    flat = flat_settings(parse_settings("trainer.command = ['a', 'b']"))
    assert flat["train.batch_tokens"] == 1024
    assert flat["trainer.command"] == ["a", "b"]
    assert flat["sources.stdlib-docs.path"] == "python:docs"
    assert not any(isinstance(value, dict) for value in flat.values())
