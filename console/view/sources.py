"""The sources of a run at a step: their size, what of them was given, how they are learned; pure.

And the bandit at that step, which is a function of settings and history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from console import formatting
from console.chart.series import UNKNOWN
from console.view.arm_counts import NOTHING, ArmCounts, Given
from console.view.run_view import ArmRow, Audit
from trainer.rundir.config.policy import (
    LOSS_MEMORY_PULLS,
    REWARD_MEMORY_PULLS,
    Earned,
    preview_policy,
    probabilities_of,
    weights_of,
)
from trainer.rundir.config.settings import Settings
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.state import ArmState

SHARE_PARTS = 16
"""A source's share over time is told in so many parts of the run."""
MANY_PASSES = 4.0
"""Up to here a row that is seen again teaches nearly as much as a new one (Muennighoff et al.:
Scaling Data-Constrained Language Models, 2023)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """A source at a step; `None` is unknown."""

    name: str
    """Foreign text."""
    tokens: int | None = None
    """That batches are drawn from."""
    rows: int | None = None
    given_tokens: int | None = None
    """In all phases so far."""
    given_rows: int | None = None
    loss: float | None = None
    """Of its batches, averaged over the last 50."""
    val_loss: float | None = None
    """By the newest audit."""
    share: float | None = None
    """Of the steps of the phase."""
    wanted: float | None = None
    """Where the pivot's review saw this share going to; `None` in the first phase."""
    shares: tuple[float, ...] = ()
    """Of the steps of each part of the run so far."""
    left_out: str = ""
    """What of its text is trained on nowhere, or more than once, in words; empty: nothing."""

    @property
    def passes(self) -> float | None:
        """How many times each row was seen."""
        if not self.rows or self.given_rows is None:
            return None
        return self.given_rows / self.rows

    @property
    def rows_left(self) -> int | None:
        """Rows until a row comes again that was seen in this pass."""
        if not self.rows or self.given_rows is None:
            return None
        return self.rows - self.given_rows % self.rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SourceFacts:
    """What was read of the sources; the same object until something of it changes."""

    counts: ArmCounts = NOTHING
    settings: Mapping[int, Settings] = field(default_factory=dict)
    """By phase, as far as they can be read."""
    sizes: Mapping[str, TokenIndex] = field(default_factory=dict)
    audits: tuple[Audit, ...] = ()
    gone: frozenset[str] = frozenset()
    """Sources of the newest phase that nothing is drawn from any more."""
    has_own_bandit: bool = True
    """Of another trainer's nothing can be worked out."""


def sources_at(facts: SourceFacts, step: int | None) -> tuple[SourceRow, ...]:
    """The sources as they stood after `step`, those drawn the most first; `None`: now."""
    moment = _Moment(facts, step)
    counts, settings = facts.counts, moment.settings
    names = [*counts.series.arms, *(settings.sources if settings is not None else ())]
    shares = counts.shares(moment.n_records, SHARE_PARTS) if moment.n_records else None
    wanted, val_losses = moment.wanted(), moment.val_losses()
    rows = []
    for name in dict.fromkeys(names):
        size, arm = facts.sizes.get(name), moment.arm(name)
        if arm is None and (settings is None or name not in settings.sources):
            continue  # it came later
        given = moment.given_row(name)
        rows.append(
            SourceRow(
                name=name,
                tokens=None if size is None else size.train_tokens,
                rows=None
                if size is None or not counts.context
                else size.train_rows(counts.context),
                given_tokens=given.tokens,
                given_rows=given.rows,
                loss=moment.average(name, "loss", LOSS_MEMORY_PULLS, is_of_phase=False),
                val_loss=val_losses.get(name),
                left_out="" if size is None else left_out_words(size),
                share=moment.share(name),
                wanted=wanted.get(name),
                shares=() if arm is None or shares is None else tuple(shares[:, arm].tolist()),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.share or 0.0), row.name)))


def left_out_words(size: TokenIndex) -> str:
    """`1.2k copies kept, 3.1M tokens set aside, 12 passages of test sets out`."""
    fate = "out" if size.drops_duplicates else "kept"
    told = (
        (size.duplicates, f"copy {fate}", f"copies {fate}"),
        (size.set_aside_tokens, "token set aside", "tokens set aside"),
        (size.apart_pieces, "passage of a test set out", "passages of test sets out"),
    )
    words = [f"{formatting.short_steps(n)} {one if n == 1 else many}" for n, one, many in told if n]
    is_searched = not size.apart or size.text_bytes
    return ", ".join(words if is_searched else [*words, "not searched for test sets"])


def losses_on_tests(facts: SourceFacts, step: int | None) -> tuple[tuple[str, float], ...]:
    """Name and loss of each test set by the newest audit; `None`: now. Names are foreign text."""
    end = len(facts.audits)
    if step is not None:
        end = bisect_right(facts.audits, step, key=lambda audit: audit.step)
    return facts.audits[end - 1].test_losses if end else ()


def often_seen(facts: SourceFacts) -> str:
    """Of the sources as they are now, `often_seen_words`, without working out all of their rows."""
    moment, context = _Moment(facts, None), facts.counts.context
    passes = {}
    for name, size in facts.sizes.items():
        rows, given = size.train_rows(context) if context else 0, moment.given_row(name).rows
        passes[name] = given / rows if rows and given is not None else None
    return often_seen_words(passes)


def often_seen_words(passes: Mapping[str, float | None]) -> str:
    """`seen more than 4 times: stdlib-docs 1,177×, wiki 5.17×`, the most seen first; empty where
    none is: seeing a row again and again teaches less and less. The names are foreign text.
    """
    often = {name: times for name, times in passes.items() if (times or 0.0) > MANY_PASSES}
    most_first = sorted(often.items(), key=lambda seen: -(seen[1] or 0.0))
    told = ", ".join(f"{name} {formatting.times(times)}" for name, times in most_first)
    return f"seen more than {MANY_PASSES:.0f} times: {told}" if told else ""


def arms_at(facts: SourceFacts, step: int) -> tuple[ArmRow, ...]:
    """The bandit as it stood after `step`; without weights where it can't be worked out."""
    moment = _Moment(facts, step)
    return tuple(ArmRow(name=name, state=state) for name, state in moment.arms().items())


class _Moment:
    """A history up to a step."""

    def __init__(self, facts: SourceFacts, step: int | None) -> None:
        series = facts.counts.series
        self._facts = facts
        self.n_records = len(series)
        if step is not None:
            self.n_records = int(np.searchsorted(series.step, step, side="right"))
        self._codes = {name: code for code, name in enumerate(series.arms)}
        self._phase = int(series.phase[self.n_records - 1]) if self.n_records else UNKNOWN
        first = np.searchsorted(series.phase[: self.n_records], self._phase)
        self._first = int(first) if self._phase != UNKNOWN else 0
        """Index of the phase's first record."""
        self._given = facts.counts.given(self.n_records)
        self._before = facts.counts.given(self._first)
        newest = max(facts.settings, default=0)
        phase = newest if self._phase == UNKNOWN else self._phase
        self.settings = facts.settings.get(phase)
        self._gone = facts.gone if phase == newest else frozenset[str]()

    def arm(self, name: str) -> int | None:
        """The code of an arm that was drawn by then."""
        code = self._codes.get(name)
        return code if code is not None and self._given.pulls[code] else None

    def given_row(self, name: str) -> _GivenRow:
        return _GivenRow.of(self._given, self.arm(name), self._facts.counts.context)

    def share(self, name: str) -> float | None:
        """Of the phase's steps."""
        if self.n_records == self._first:
            return None
        return self._pulls(name) / (self.n_records - self._first)

    def average(self, name: str, column: str, memory: int, *, is_of_phase: bool) -> float | None:
        """An arm's average of late."""
        if (code := self.arm(name)) is None:
            return None
        values = getattr(self._facts.counts.series, column)
        records = slice(self._first if is_of_phase else 0, self.n_records)
        return self._facts.counts.average(code, values, records, memory)

    def val_losses(self) -> Mapping[str, float]:
        """By source, of the newest audit that tells any."""
        audits, series = self._facts.audits, self._facts.counts.series
        if not self.n_records:
            return {}
        step = int(series.step[self.n_records - 1])
        end = bisect_right(audits, step, key=lambda audit: audit.step)
        for audit in reversed(audits[:end]):
            if audit.val_losses:
                return dict(audit.val_losses)
        return {}

    def wanted(self) -> Mapping[str, float | None]:
        """The shares that the review of the pivot before this phase told."""
        facts = self._facts
        if self.settings is None or not self._first or not facts.has_own_bandit:
            return {}
        before = _Moment(facts, int(facts.counts.series.step[self._first - 1]))
        return {n: arm.learned for n, arm in preview_policy(self.settings, before.arms()).items()}

    def arms(self) -> dict[str, ArmState]:
        """Each arm by name, those that are gone with what they gave."""
        settings, drawn = self.settings, [n for n in self._codes if self._pulls(n)]
        names = sorted({*drawn, *(settings.sources if settings is not None else ())})
        earned = {name: self._earned(name) for name in names}
        live = {
            name: earned[name]
            for name in names
            if settings is not None and name in settings.sources and name not in self._gone
        }
        weights, shares = self._weighed(live)
        return {
            name: ArmState(
                pulls=arm.pulls,
                ema_reward=arm.ema_reward,
                weight=weights.get(name),
                probability=shares.get(name),
                floor=settings.bounds_of(name).floor if settings and name in weights else None,
                cap=settings.bounds_of(name).cap if settings and name in weights else None,
                available=settings is None or name in live,
            )
            for name, arm in earned.items()
        }

    def _weighed(self, live: Mapping[str, Earned]) -> tuple[dict[str, float], dict[str, float]]:
        if self.settings is None or not live or not self._facts.has_own_bandit:
            return {}, {}
        bounds = {name: self.settings.bounds_of(name) for name in live}
        weights = weights_of(live, bounds, sum(arm.pulls for arm in live.values()))
        return weights, probabilities_of(weights, bounds)

    def _earned(self, name: str) -> Earned:
        reward = self.average(name, "reward", REWARD_MEMORY_PULLS, is_of_phase=True)
        return Earned(pulls=self._pulls(name), ema_reward=reward)

    def _pulls(self, name: str) -> int:
        """In the phase."""
        code = self._codes.get(name)
        return 0 if code is None else int(self._given.pulls[code] - self._before.pulls[code])


@dataclass(frozen=True, slots=True)
class _GivenRow:
    tokens: int | None
    rows: int | None

    @classmethod
    def of(cls, given: Given, code: int | None, context: int | None) -> _GivenRow:
        if code is None:
            return cls(0, 0)
        tokens = int(given.tokens[code])
        if not tokens:  # the records don't tell
            return cls(None, None)
        return cls(tokens, int(given.rows[code]) if context else None)
