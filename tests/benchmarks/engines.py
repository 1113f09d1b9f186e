"""Engines and batches for measuring, and nanoGPT's model as the peer."""

import contextlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trainer.engine.engine import Engine
from trainer.rundir.config.presets import PRESETS
from trainer.rundir.config.settings import (
    ModelSettings,
    OptimizerSettings,
    Settings,
    SourceSettings,
    TrainSettings,
)

Rows = NDArray[np.int64]


def preset_settings(preset: str, *, rows: int, device: str = "cpu", **train: Any) -> Settings:
    """A preset with so many rows a step, in one pass."""
    chosen = PRESETS[preset]
    model = ModelSettings(**chosen["model"])
    return Settings(
        preset=preset,
        model=model,
        train=TrainSettings(
            **{
                **chosen["train"],
                "batch_tokens": rows * model.context,
                "micro_batch": rows,
                "device": device,
                "precision": "auto",
                **train,
            }
        ),
        optimizer=OptimizerSettings(**chosen["optimizer"]),
        sources={"none": SourceSettings(path="python:docs")},
    )


def state_settings(n_params: int) -> Settings:
    """A model of about so many parameters, most of them in embeddings and head: a short step."""
    settings = preset_settings("demo", rows=1)
    return replace(settings, model=replace(settings.model, vocab_size=n_params // 256))


def make_engine(settings: Settings) -> Engine:
    engine = Engine(settings)
    engine.initialise()
    return engine


def batches(settings: Settings) -> Callable[[], Rows]:
    """Random batches, the same sequence at each call."""
    generator = np.random.default_rng(0)
    shape = (settings.rows, settings.model.context + 1)
    return lambda: generator.integers(0, settings.model.vocab_size, shape)


def nanogpt_step(checkout: Path, settings: Settings) -> Callable[[Rows], float]:
    """One step of nanoGPT's model at this shape, as its train.py takes it: clip at 1.0, AdamW."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", checkout / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = settings.model
    with contextlib.redirect_stdout(io.StringIO()):
        peer = module.GPT(
            module.GPTConfig(
                block_size=model.context,
                vocab_size=model.vocab_size,
                n_layer=model.layers,
                n_head=model.heads,
                n_embd=model.width,
                dropout=0.0,
                bias=False,
            )
        )
        optimizer: Any = peer.configure_optimizers(0.1, 1e-3, (0.9, 0.999), "cpu")

    def step(rows: Rows) -> float:
        tokens = torch.from_numpy(rows)
        _, loss = peer(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.item())

    return step
