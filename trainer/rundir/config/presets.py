"""The presets: what a run starts from where `run.toml` is silent."""

from typing import Any

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "demo": {
        "model": {"vocab_size": 512, "context": 128, "layers": 4, "heads": 4, "width": 128},
        "train": {"total_steps": 2000, "batch_tokens": 1024, "micro_batch": 8},
        "optimizer": {"lr": 1e-3, "min_lr": 1e-4, "warmup_steps": 100},
    },
    "andrea-12m": {
        "model": {"vocab_size": 2305, "context": 1024, "layers": 6, "heads": 12, "width": 384},
        "train": {"total_steps": 200_000, "batch_tokens": 65_536, "micro_batch": 16},
        "optimizer": {"lr": 3e-4, "min_lr": 3e-5, "warmup_steps": 2000},
    },
    "andrea-120m": {
        "model": {"vocab_size": 22_400, "context": 1024, "layers": 12, "heads": 12, "width": 768},
        "train": {
            "total_steps": 200_000,
            "batch_tokens": 524_288,
            "micro_batch": 16,
            "precision": "fp16",
        },
        "optimizer": {"lr": 3e-4, "min_lr": 3e-5, "warmup_steps": 2000},
        # all 2,000 files would be 2.88 TB; these are 60, or 86 GB
        "checkpoint": {"keep_last": 20, "keep_every": 5000},
    },
}

DEFAULT_SOURCES: dict[str, str] = {
    "stdlib-docs": "python:docs",
    "stdlib-docstrings": "python:docstrings",
    "stdlib-code": "python:code",
}
"""Text that every Python installation carries, so that a first run needs no download."""
