"""Healthy runs by step: curves that are read off as a run's record."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from console.health.evidence import Evidence

Array = npt.NDArray[np.float64]


@dataclass
class Simulated:
    """A healthy run's curves by step; a planted ill changes them before they are read off."""

    chance: np.random.Generator
    n: int
    learned: Array = field(init=False)
    """(n,) as many steps of learning show in the training loss: a plateau stops it."""
    held_learned: Array = field(init=False)
    """The same in val_loss."""

    def __post_init__(self) -> None:
        chance, n = self.chance, self.n
        self.t = np.arange(1.0, n + 1)
        self.learned, self.held_learned = self.t.copy(), self.t.copy()
        self.n_arms = int(chance.choice([1, 2, 3, 5, 8, 10], p=[0.08, 0.12, 0.2, 0.2, 0.2, 0.2]))
        self.names = tuple(f"arm{index}" for index in range(self.n_arms))
        n_pivots = int(chance.integers(0, 3))
        self.pivots = sorted(int(at * n) for at in chance.uniform(0.15, 0.93, n_pivots))
        self.restarts = sorted(int(at) for at in chance.uniform(1, n, int(chance.integers(0, 7))))
        self.rises = np.zeros((self.n_arms, n))  # of the loss, by arm; planted
        self.held_rises = np.zeros((self.n_arms, n))  # the same of val_loss
        self.score_falls = np.zeros(n)
        self.slower = np.ones(n)
        self.norm_factor = np.ones(n)
        self.limit = float(chance.choice([0.5, 1.0]))
        self.norm_level = self.limit * float(chance.choice([0.15, 0.3, 0.5, 3.0, 6.0]))
        self.norm_spread = float(chance.uniform(0.15, 0.4))
        self.every = max(20, n // int(chance.choice([150, 300, 600])))
        self.has_learned = True
        self.score_learned = self.learned

    def ramp(self, start: int, length: int) -> Array:
        """(n,) 0 up to `start`, 1 after `length` steps."""
        return np.asarray(np.clip((self.t - start) / max(1, length), 0.0, 1.0))

    def since(self, least: float, most: float) -> int:
        """A step to begin at, between shares of the run, and not beside a pivot: what begins
        there can't be told from what the pivot moved.
        """
        while True:
            step = int(self.chance.uniform(least, most) * self.n)
            if all(abs(step - pivot) > 0.025 * self.n for pivot in self.pivots):
                return step

    def evidence(self) -> Evidence:
        arm = self._arms()
        loss = self._losses(arm)
        audit = np.arange(self.every, self.n + 1, self.every)
        held = self._held_out(audit)
        return Evidence(
            step=np.arange(1, self.n + 1),
            loss=loss,
            grad_norm=self._grad_norms().astype(np.float32),
            ms=self._step_times().astype(np.float32),
            tokens=np.full(self.n, 524_288, np.float32),
            arm=arm.astype(np.int16),
            arms=self.names,
            pivots=tuple(self.pivots),
            restarts=tuple(self.restarts),
            max_grad_norm=self.limit,
            audit_step=audit,
            score=self._scores(audit),
            val_loss=held.mean(axis=0),
            val_losses=dict(zip(self.names, held, strict=True)),
        )

    def _arms(self) -> Array:
        """(n,) which arm each step draws: shares drift, and move at a pivot."""
        chance, knots = self.chance, 12
        walk = chance.normal(0, 0.7, (self.n_arms, 1))
        walk = walk + np.cumsum(chance.normal(0, 0.25, (self.n_arms, knots)), axis=1)
        at = np.linspace(1, self.n, knots)
        logits = np.stack([np.interp(self.t, at, row) for row in walk])
        for pivot in self.pivots:
            logits[:, pivot - 1 :] += chance.normal(0, 0.8, (self.n_arms, 1))
        shares = np.maximum(np.exp(logits - logits.max(axis=0)), 0.02)
        edges = np.cumsum(shares / shares.sum(axis=0), axis=0)
        drawn = chance.random(self.n)
        return np.asarray((drawn[None, :] > edges[:-1]).sum(axis=0), np.float64)

    def _curves(self) -> tuple[Array, Array]:
        """(arms, n) what each arm's loss is without noise, and its val_loss."""
        chance = self.chance
        floors = 2.4 + chance.uniform(0, 1.8, (self.n_arms, 1))
        power, amplitude = chance.uniform(0.18, 0.5), chance.uniform(5.0, 9.0)
        scale = amplitude * chance.uniform(0.8, 1.2, (self.n_arms, 1))
        start, little = chance.uniform(20, 200), chance.uniform(0, 0.1)
        moves = np.zeros((self.n_arms, self.n))
        for pivot in self.pivots:
            moves[:, pivot - 1 :] += chance.uniform(-0.3, 0.3, (self.n_arms, 1))

        def after(learned: Array) -> Array:
            if not self.has_learned:
                return 9.0 + 0.1 * floors + moves - little * np.minimum(1, self.t / 300)
            annealed = 0.06 * (1 - np.cos(np.pi * learned / self.n)) / 2
            curves: Array = floors + scale * (1 + learned / start) ** -power - annealed + moves
            return curves

        return after(self.learned), after(self.held_learned)

    def _losses(self, arm: Array) -> Array:
        chance, n = self.chance, self.n
        self.curves, self.held_curves = self._curves()
        spreads = chance.uniform(0.04, 0.2, self.n_arms)
        kinds = chance.choice(["gauss", "heavy", "slow"], self.n_arms)
        noise = np.zeros(n)
        for index in range(self.n_arms):
            is_drawn = arm == index
            noise[is_drawn] = spreads[index] * self._noise(str(kinds[index]), int(is_drawn.sum()))
        drawn = arm.astype(np.intp), np.arange(n)
        return (self.curves + self.rises)[drawn] + noise + self._lone_spikes()

    def _noise(self, kind: str, n: int) -> Array:
        chance = self.chance
        if kind == "heavy":
            return chance.standard_t(3, n) / 3**0.5
        white = chance.normal(0, 1, n)
        if kind == "gauss":
            return white
        keep = chance.uniform(0.3, 0.9)
        for index in range(1, n):
            white[index] = keep * white[index - 1] + (1 - keep * keep) ** 0.5 * white[index]
        return white

    def _lone_spikes(self) -> Array:
        """Spikes of a few steps that recover."""
        spikes = np.zeros(self.n)
        for _ in range(int(self.chance.integers(0, 5))):
            at = int(self.chance.integers(200, int(self.n * 0.99)))
            fade = self.chance.uniform(1, 12)
            height = self.chance.uniform(0.5, 4)
            spikes[at:] += height * np.exp(-np.arange(self.n - at) / fade)
        return spikes

    def _grad_norms(self) -> Array:
        grown = 1 + self.chance.uniform(0, 0.5) * self.t / self.n
        early = 1 + 3 * np.exp(-self.t / (0.01 * self.n))
        noise = np.exp(self.norm_spread * self.chance.normal(0, 1, self.n))
        return np.asarray(self.norm_level * grown * early * noise * self.norm_factor)

    def _step_times(self) -> Array:
        chance, n = self.chance, self.n
        level = chance.uniform(200, 20_000)
        day = n / chance.uniform(5, 25)
        daily = 1 + chance.uniform(0, 0.08) * np.sin(
            2 * np.pi * self.t / day + chance.uniform(0, 6)
        )
        times = level * daily * np.exp(chance.uniform(0.01, 0.06) * chance.normal(0, 1, n))
        for _ in range(int(chance.integers(0, 3))):  # slow hours that end
            start = int(chance.uniform(0.05, 0.85) * n)
            length = int(chance.uniform(0.002, 0.08) * n)
            times[start : start + length] *= chance.uniform(1.1, 1.8)
        for restart in self.restarts:
            times[restart - 1 : restart + int(chance.integers(1, 10))] *= chance.uniform(2, 20)
        lone = chance.random(n) < 0.003  # a step beside an audit or a save
        times[lone] *= chance.uniform(1.5, 6, int(lone.sum()))
        return times * self.slower

    def _held_out(self, audit: npt.NDArray[np.int64]) -> Array:
        """(arms, audits)"""
        chance = self.chance
        gap = chance.uniform(-0.05, 0.15) + chance.uniform(0, 0.05) * self.t / self.n
        noise = chance.uniform(0.004, 0.02) * chance.normal(0, 1, (self.n_arms, len(audit)))
        return (self.held_curves + gap + self.held_rises)[:, audit - 1] + noise

    def _scores(self, audit: npt.NDArray[np.int64]) -> Array:
        chance = self.chance
        start, end = chance.uniform(15, 35), chance.uniform(55, 85)
        grown = end + (start - end) * np.exp(
            -np.minimum(self.learned, self.score_learned) / (chance.uniform(0.03, 0.2) * self.n)
        )
        if not self.has_learned:
            grown[:] = start
        early = chance.uniform(0, 40) * np.exp(-self.t / (0.01 * self.n))  # noise scores high
        kind = str(chance.choice(["gauss", "heavy"]))
        noise = chance.uniform(1.5, 4.5) * self._noise(kind, len(audit))
        scores = (grown + early - self.score_falls)[audit - 1] + noise
        return np.asarray(np.clip(scores, 0, 100))
