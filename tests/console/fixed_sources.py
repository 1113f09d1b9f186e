"""The sources of the fixed run: the same at every call."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from console.chart.series import Series, Values
from console.health.verdict import Health, Reason
from console.view.arm_counts import counted
from console.view.run_view import Audit
from console.view.sources import SourceFacts
from tests.console.fixed_run import PIVOT_STEP, STEP, fixed_health
from trainer.rundir.config.run_toml import parse_settings, render_new_run
from trainer.rundir.config.settings import ArmPolicy, Settings, SourceSettings
from trainer.rundir.sources.prepared import TokenIndex

CONTEXT = 1024
# By source: tokens, loss, val_loss, shares at the run's start, before the pivot and after it.
_SOURCES = {
    "stdlib-docs": (18_400_000_000, 2.61, 2.68, 0.22, 0.16, 0.28),
    "stdlib-code": (31_200_000_000, 2.32, 2.37, 0.22, 0.36, 0.27),
    "books": (12_700_000_000, 2.98, 3.04, 0.22, 0.22, 0.24),
    "wiki-en": (9_100_000_000, 2.74, 2.79, 0.24, 0.10, 0.16),
    "chat": (640_000_000, 1.93, 2.71, 0.10, 0.16, 0.05),
}
_BOUNDS = {"stdlib-docs": (0.1, 1.5), "chat": (0.0, 0.25)}
MEMORISED = Reason(
    kind="memorising",
    series="train–val gap of chat",
    since_step=71_300,
    past=0.09,
    now=0.78,
    text="memorising: train–val gap of chat 0.09 → 0.78",
    sigmas=21.0,
)


def fixed_sources() -> SourceFacts:
    """Five sources, of which a small one is seen too often."""
    names, step = tuple(_SOURCES), np.arange(1, STEP + 1)
    chance = np.random.default_rng(1337)
    arm = _drawn(chance.random(STEP), step)
    loss = np.array([_SOURCES[name][1] for name in names])[arm] + chance.normal(0, 0.05, STEP)
    series = Series()
    series.codes_of(names)
    series.append_many(
        step,
        loss,
        loss,
        arm=arm,
        phase=1 + (step > PIVOT_STEP),
        reward=0.3 + 0.1 * chance.random(STEP),
        tokens=np.full(STEP, 524_288),
    )
    held = tuple((name, _SOURCES[name][2]) for name in names)
    return SourceFacts(
        counts=counted(series.view(), CONTEXT),
        settings={1: _settings({}), 2: _settings(_BOUNDS)},
        sizes={name: _size(_SOURCES[name][0]) for name in names},
        audits=(Audit(step=100, checkpoint="step_000100.bin", val_losses=held),),
    )


def fixed_ills() -> Health:
    """The fixed run's health, with the source that is memorised."""
    return replace(fixed_health(), memorised={"chat": MEMORISED})


def _drawn(at: Values, step: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    first, last, after = (np.array([s[i] for s in _SOURCES.values()]) for i in (3, 4, 5))
    part = (step / PIVOT_STEP)[:, np.newaxis]
    shares = np.where(part > 1, after, first + (last - first) * part)
    edges = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    return np.asarray((at[:, np.newaxis] > edges[:, :-1]).sum(axis=1))


def _settings(bounds: dict[str, tuple[float, float]]) -> Settings:
    sources = {name: SourceSettings(path="*.txt") for name in _SOURCES}
    made = parse_settings(render_new_run("andrea-120m", sources))
    policy = {name: ArmPolicy(floor=floor, cap=cap) for name, (floor, cap) in bounds.items()}
    return replace(made, policy=policy)


def _size(tokens: int) -> TokenIndex:
    return TokenIndex(
        stamp="",
        tokenizer="",
        dtype="<u2",
        fingerprint="",
        documents=1,
        held_out_documents=1,
        train_tokens=tokens,
        held_out_tokens=tokens // 100,
    )
