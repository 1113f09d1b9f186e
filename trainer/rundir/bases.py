"""The checkpoints that something else stands on: pivots, and the fork that this run is."""

from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.layout import RunDirectory


def protected_steps(run: RunDirectory) -> dict[int, str]:
    """Step → what stands on it; a journal that can't be read protects nothing."""
    journals = [folder / run.pivot.name for _, folder in run.archived_phases()] + [run.pivot]
    steps = {_whole(_read(path).get("held"), "step"): "a pivot's base" for path in journals}
    steps[_whole(_read(run.fork), "step")] = "the fork's base"
    steps.pop(None, None)
    return {step: why for step, why in steps.items() if step is not None}


def _read(path: Path) -> dict[str, Any]:
    try:
        written = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}


def _whole(written: object, key: str) -> int | None:
    value = written.get(key) if isinstance(written, dict) else None
    return value if type(value) is int else None
