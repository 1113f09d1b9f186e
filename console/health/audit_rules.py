"""Rules over the audits: the score, val_loss, and its distance from the training loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from console.chart.quantiles import median
from console.health.curve import Curve, curve_of
from console.health.evidence import Evidence, Floats, Values
from console.health.findings import Judged, Rule, change_of, risen
from console.health.levels import without_jumps
from console.health.losses import common_loss
from console.health.pooled import FEWEST_BINS, Pool
from console.health.record_curves import measured
from console.health.verdict import Reason

_SCORE = Rule(kind="score", effect=12.0, sigmas=5.0, skipped=0.1)
"""An untrained model's noise scores high: the first audits are no past."""
_VAL_LOSS = Rule(kind="val_loss", effect=0.1, sigmas=6.0)
_GAP = Rule(kind="val_loss", effect=0.1, sigmas=6.0, may_fall=False, skipped=0.15)
_FOLLOWS = 0.2
"""Of a gap that opens: how far val_loss may fall meanwhile, and not follow."""
_LEARNS = 0.02
"""Nats that the training loss falls at least where what is learned is learned by heart."""
GAP = "train–val gap"
_NOTHING_TOLD: Values = np.empty(0)


def score(evidence: Evidence) -> Reason | None:
    """The score has fallen."""
    curve = audited(evidence, evidence.score)
    series = Judged(
        name="score",
        first=curve.first,
        middle=curve.middle,
        values=without_jumps(curve.middle, -curve.value, evidence.pivots, effect=_SCORE.effect),
        shown=curve.value,
    )
    return risen(_SCORE, series, lambda past, now: f"audit score {past:.0f} → {now:.0f}")


def held_out(evidence: Evidence, loss: Curve, pool: Pool) -> Iterator[Reason]:
    """val_loss has risen, or stays while the training loss falls; else that of a source.

    What a rise hides is learning; in the gap to the training loss it is not hidden, so a rise
    is dated by the gap. Without a gap it is a share of what the training loss does.
    """
    val, gap = _val_loss(evidence, "val_loss", evidence.val_loss), _gap(evidence, loss, pool)
    if gap is not None and (val is None or gap.kind == "memorising"):
        yield gap
    elif gap is not None and val is not None:
        yield replace(val, since_step=gap.since_step, sigmas=max(val.sigmas, gap.sigmas))
    elif val is not None:
        yield replace(val, is_apart=False)
    else:
        for name, values in evidence.val_losses.items():
            found = _val_loss(evidence, f"val_loss of {name}", values)
            if found is not None:
                yield replace(found, is_apart=False)


def _val_loss(evidence: Evidence, name: str, values: Floats) -> Reason | None:
    curve = audited(evidence, values)
    series = Judged(
        name=name,
        first=curve.first,
        middle=curve.middle,
        values=without_jumps(curve.middle, curve.value, evidence.pivots, effect=_VAL_LOSS.effect),
        shown=curve.value,
    )
    return risen(_VAL_LOSS, series, change_of(name))


def _gap(evidence: Evidence, loss: Curve, pool: Pool) -> Reason | None:
    """Between what the arms have in common and val_loss."""
    common = common_loss(loss, pool)
    held = audited(evidence, evidence.val_loss)
    return None if common is None else _opened(GAP, evidence.pivots, loss, common, held)


def memorised(evidence: Evidence, pool: Pool) -> Iterator[tuple[str, Reason]]:
    """Sources that are learned by heart: their own loss falls away from their own val_loss."""
    for name, loss in pool.arms.items():
        held = audited(evidence, evidence.val_losses.get(name, _NOTHING_TOLD))
        if len(loss) >= FEWEST_BINS:
            found = _opened(f"{GAP} of {name}", evidence.pivots, loss, loss.value, held)
            if found is not None and found.kind == "memorising":
                yield name, found


def _opened(
    name: str, pivots: tuple[int, ...], loss: Curve, level: Values, curve: Curve
) -> Reason | None:
    """A gap that opens while val_loss doesn't follow the training loss down; `level` is on the
    bins of `loss`.
    """
    if not len(curve):
        return None
    even = without_jumps(loss.middle, level, pivots, effect=_GAP.effect)
    val = without_jumps(curve.middle, curve.value, pivots, effect=_VAL_LOSS.effect)
    if not len(even) or not len(val):
        return None
    train = np.interp(curve.middle, loss.middle[: len(even)], even)[: len(val)]
    series = Judged(
        name=name,
        first=curve.first,
        middle=curve.middle,
        values=val - train,
        shown=val - train + (curve.value[len(val) - 1] - val[-1]) - (level[-1] - even[-1]),
    )
    found = risen(_GAP, series, change_of(name))
    if found is None:
        return None
    since, opened = int(np.searchsorted(curve.first, found.since_step)), found.now - found.past
    if _change(val, since) < -_FOLLOWS * opened:
        return None
    if _change(train, since) > -_LEARNS:
        return found
    return replace(found, kind="memorising", text=f"memorising: {found.text}")


def _change(values: Values, since: int) -> float:
    n_last = max(1, min(8, (len(values) - since) // 2))
    return median(values[-n_last:]) - median(values[max(0, since - 8) : since + 1])


def audited(evidence: Evidence, values: Floats) -> Curve:
    """A column of the audits as bins; without any where it is not known."""
    if len(values) != len(evidence.audit_step):
        return curve_of(np.empty(0), np.empty(0))
    return curve_of(evidence.audit_step, measured(values))
