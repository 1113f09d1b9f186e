"""The loss history as bins: loss, each arm's loss, step time, gradient norm, clipping, tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from console.health.curve import Curve, Reduction, curve_of, grown
from console.health.evidence import Evidence, Floats, Integers, Values

_SLOW_STEPS = 10
"""After a start the first ones may compile, and fill caches."""
_LARGEST = 1e15
"""What lies beyond is no measurement; sums of such numbers would overflow."""

_Column = Callable[[Evidence, slice], Floats]
_NOTHING = curve_of(np.empty(0), np.empty(0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordCurves:
    """Of the first `n_records` records."""

    n_records: int
    loss: Curve
    arms: Mapping[str, Curve]
    """Loss by arm; records that don't tell theirs are in none."""
    ms: Curve
    """Step time, without the steps that follow a start."""
    grad_norm: Curve
    clipped: Curve
    """Share of steps; no bins where the limit is unknown."""
    tokens: Curve

    def bins(self) -> tuple[tuple[str, int, int], ...]:
        """Number and width of all curves' bins: equal while nothing but tails have grown."""
        columns = (self.loss, self.ms, self.grad_norm, self.clipped, self.tokens)
        named = [*(("", curve) for curve in columns), *self.arms.items()]
        return tuple((name, len(curve), curve.width) for name, curve in named)


def curves_of(evidence: Evidence) -> RecordCurves:
    """All anew, in O(n)."""
    nothing = RecordCurves(
        n_records=0,
        loss=_NOTHING,
        arms={},
        ms=_NOTHING,
        grad_norm=_NOTHING,
        clipped=curve_of(np.empty(0), np.empty(0), "mean"),
        tokens=_NOTHING,
    )
    return grown_by(nothing, evidence)


def grown_by(curves: RecordCurves, evidence: Evidence) -> RecordCurves:
    """With the records from `curves.n_records` on; what they are to follow hasn't changed.

    A curve that has come to hold too many bins is made anew from all of the records.
    """
    new = slice(curves.n_records, len(evidence))

    def longer(curve: Curve, values_of: _Column, reduction: Reduction = "median") -> Curve:
        values = values_of(evidence, new)
        if not len(values):
            return curve
        if curve.has_room_for(int(np.isfinite(values).sum())):
            return grown(curve, evidence.step[new], values)
        every = values if new.start == 0 else values_of(evidence, slice(0, None))
        return curve_of(evidence.step, every, reduction)

    return RecordCurves(
        n_records=len(evidence),
        loss=longer(curves.loss, _loss),
        arms=_arms(curves.arms, evidence, new),
        ms=longer(curves.ms, _ms),
        grad_norm=longer(curves.grad_norm, _grad_norm),
        clipped=longer(curves.clipped, _clipped, "mean"),
        tokens=longer(curves.tokens, _tokens),
    )


def _arms(arms: Mapping[str, Curve], evidence: Evidence, new: slice) -> Mapping[str, Curve]:
    code, loss = evidence.arm[new], _loss(evidence, new)
    if not len(code):
        return arms
    found = dict(arms)
    order = np.argsort(code, kind="stable")
    edges = np.searchsorted(code[order], np.arange(len(evidence.arms) + 1))
    for index, name in enumerate(evidence.arms):
        of_arm = order[edges[index] : edges[index + 1]]
        if len(of_arm):
            step, values = evidence.step[new][of_arm], loss[of_arm]
            found[name] = _longer_arm(evidence, index, found.get(name), step, values)
    return {name: found[name] for name in evidence.arms if name in found}


def _longer_arm(
    evidence: Evidence, index: int, curve: Curve | None, step: Integers, values: Values
) -> Curve:
    """An arm's curve with its new losses, or anew from all."""
    if curve is None:
        return curve_of(step, values)
    if curve.has_room_for(int(np.isfinite(values).sum())):
        return grown(curve, step, values)
    is_drawn = evidence.arm == index
    return curve_of(evidence.step[is_drawn], measured(evidence.loss[is_drawn]))


def _loss(evidence: Evidence, part: slice) -> Values:
    return measured(evidence.loss[part])


def _ms(evidence: Evidence, part: slice) -> Values:
    ms = _positive(evidence.ms[part])
    for restart in evidence.restarts:
        first = np.searchsorted(evidence.step[part], restart)
        last = np.searchsorted(evidence.step[part], restart + _SLOW_STEPS)
        ms[first:last] = np.nan
    return ms


def _grad_norm(evidence: Evidence, part: slice) -> Values:
    return _positive(evidence.grad_norm[part])


def _clipped(evidence: Evidence, part: slice) -> Values:
    grad_norm, limit = _positive(evidence.grad_norm[part]), evidence.max_grad_norm
    if not limit or not np.isfinite(limit):
        return np.full(len(grad_norm), np.nan)
    return np.where(np.isnan(grad_norm), np.nan, grad_norm > limit)


def _tokens(evidence: Evidence, part: slice) -> Values:
    return _positive(evidence.tokens[part])


def measured(values: Floats) -> Values:
    """As float64, with NaN for what can be no measurement."""
    numbers = np.asarray(values, np.float64)
    return np.where(np.abs(numbers) < _LARGEST, numbers, np.nan)


def _positive(values: Floats) -> Values:
    numbers = measured(values)
    return np.where(numbers > 0, numbers, np.nan)
