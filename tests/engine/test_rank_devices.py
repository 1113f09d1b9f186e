"""How many ranks a machine is to have, and what it can't have: by the settings' names."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from trainer.engine.device import require_devices
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.outcomes import SettingsError

TRAIN = parse_settings("").train


def asked(monkeypatch: pytest.MonkeyPatch, gpus: int, **train: Any) -> int:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    return require_devices(replace(TRAIN, **train))


@pytest.mark.parametrize(
    ("gpus", "train", "ranks"),
    [
        (0, {}, 1),
        (0, {"ranks": 4}, 4),
        (0, {"ranks": 0}, 1),
        (8, {}, 1),
        (8, {"ranks": 0}, 8),
        (8, {"ranks": 4, "device": "cuda"}, 4),
        (2, {"ranks": 4, "device": "cpu"}, 4),
        (8, {"device": "cuda:3"}, 1),
    ],
)
def test_ranks_are_those_that_are_asked_for_or_one_for_each_gpu(
    gpus: int, train: dict[str, Any], ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(monkeypatch, gpus, **train) == ranks


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ({"ranks": 4}, "train.ranks: 4 ranks want a GPU each, and 2 are in sight"),
        ({"ranks": 2, "device": "cuda:1"}, "train.device: cuda:1 is one GPU"),
    ],
)
def test_more_ranks_than_gpus_are_refused(
    train: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=words):
        asked(monkeypatch, 2, **train)
