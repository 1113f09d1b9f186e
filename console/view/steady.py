"""A machine as it is shown: a figure stands until it has moved by what a person would mind.

Else an idle machine would be drawn all the time: its processors are never quite at rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from console.view.gpu import Gpu, Gpus
from console.view.machine import Machine, Process

_Sample = TypeVar("_Sample", Machine, Process, Gpu)


def _share(least: float) -> Callable[[float], float]:
    return lambda _: least


def _part(part: float, least: float = 0.0) -> Callable[[float], float]:
    return lambda shown: max(part * shown, least)


_SLACK: Mapping[str, Callable[[float], float]] = {
    "busy": _share(0.03),
    "celsius": _share(2),
    "watts": _part(0.03, least=3.0),
    "used_bytes": _part(0.01),
    "trainer_bytes": _part(0.01),
    "cpu_share": _share(0.05),
    "ram_used_bytes": _part(0.03),
    "rss_bytes": _part(0.02),
    "write_rate": _part(0.25, least=100_000.0),
}
"""By field, from the figure that is shown: how far the true one must be from it."""


def steady(now: Machine, shown: Machine | None) -> Machine:
    """`now`, with the figures that are shown where they are near enough."""
    if shown is None:
        return now
    trainer = now.trainer
    if trainer is not None and shown.trainer is not None:
        trainer = _steady(trainer, shown.trainer)
    rows = {row.index: row for row in shown.gpus.rows}
    gpus = tuple(
        _steady(row, rows[row.index]) if row.index in rows else row for row in now.gpus.rows
    )
    now = replace(now, trainer=trainer, gpus=Gpus(rows=gpus, word=now.gpus.word))
    return _steady(now, shown)


def _steady(now: _Sample, shown: _Sample) -> _Sample:
    kept: dict[str, Any] = {}
    for field in fields(now):
        new, old = getattr(now, field.name), getattr(shown, field.name)
        slack = _SLACK.get(field.name)
        if slack is None or not new or old is None:  # nothing at all is said at once
            continue
        if abs(new - old) < slack(old):
            kept[field.name] = old
    return replace(now, **kept)
