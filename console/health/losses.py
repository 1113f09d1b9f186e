"""Rules over the training loss: a source, divergence, nothing learned, a plateau."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from console.chart.quantiles import median
from console.health.curve import Curve
from console.health.evidence import Values
from console.health.findings import Judged, Rule, change_of, risen, told_levels
from console.health.levels import sigma_of_windows, without_jumps
from console.health.plateau import standstill
from console.health.pooled import FEWEST_BINS, Pool
from console.health.verdict import Reason

_DIVERGENCE = Rule(kind="divergence", effect=0.12, sigmas=6.0)
_SOURCE = Rule(kind="source", effect=0.4, sigmas=6.0, skipped=0.15)
"""In the beginning arms that learn at unlike speeds move apart."""
_SHARP = 0.5
"""Of a rise apart from the others, what is no learning that they are quicker in."""
_SHARED = 0.4
"""Of an arm's rise, what the others have too if it is theirs as well."""
_LEARNED = 0.25
"""Nats below the first records that any run gets to."""
_STILL_FALLS = 0.4
"""Of what val_loss would have fallen: a loss that falls more stands not still with it."""
FEWEST_TO_LEARN = 500


def sources(pool: Pool) -> Iterator[tuple[str, Reason]]:
    """Arms that went wrong apart from the others, each with its reason."""
    for name, curve in pool.arms.items():
        others = pool.without([name])
        if others is None:
            continue
        apart = curve.value - np.interp(curve.middle, pool.grid, others)
        series = Judged(
            name=f"loss of {name}",
            first=curve.first,
            middle=curve.middle,
            values=without_jumps(curve.middle, apart, pool.pivots, effect=_SOURCE.effect),
            shown=curve.value,
        )
        found = risen(_SOURCE, series, change_of(series.name))
        if found is not None and _is_own(curve, series.values, found.since_step, pool, others):
            yield name, found


def _is_own(curve: Curve, apart: Values, since_step: int, pool: Pool, others: Values) -> bool:
    """Whether a rise apart from the others is no slower learning, and not theirs as well."""
    since = int(np.searchsorted(curve.first, since_step))
    past, now = told_levels(apart, since)
    own_past, own_now = told_levels(
        without_jumps(curve.middle, curve.value, pool.pivots, effect=_SOURCE.effect), since
    )
    near = median(apart[since : since + 8]) - median(apart[max(0, since - 8) : since])
    if not max(own_now - own_past, near) >= _SHARP * (now - past):
        return False
    of_others = int(np.searchsorted(pool.grid, since_step))
    past_others, now_others = told_levels(
        without_jumps(pool.grid, others, pool.pivots, effect=_SOURCE.effect), of_others
    )
    return now_others - past_others < _SHARED * (now - past)


def divergence(loss: Curve, pool: Pool, ill_arms: Sequence[str]) -> Reason | None:
    """The loss of all arms but those that are ill by themselves."""
    common = common_loss(loss, pool, ill_arms)
    if common is None:
        return None
    series = Judged(
        name="loss",
        first=loss.first,
        middle=loss.middle,
        values=without_jumps(loss.middle, common, pool.pivots, effect=_DIVERGENCE.effect),
        shown=common,
    )
    return risen(_DIVERGENCE, series, change_of("loss"))


def common_loss(loss: Curve, pool: Pool, ill_arms: Sequence[str] = ()) -> Values | None:
    """(b,) what the arms have in common, on the bins of `loss` and at the level of its newest.

    Of a run without arms it is the loss itself; `None` if there is too little of it.
    """
    if not pool.arms:
        return loss.value if len(loss) >= FEWEST_BINS else None
    common = pool.without(ill_arms)
    return None if common is None else common + median(loss.value[-8:]) - median(common[-8:])


def nothing_learned(loss: Curve, pool: Pool, first_losses: Values) -> Reason | None:
    """Ill from the start: there is no better past to compare with."""
    common, n_records = common_loss(loss, pool), len(loss) * loss.width
    if common is None or n_records < FEWEST_TO_LEARN or not len(first_losses):
        return None
    even, n_level = (
        without_jumps(loss.middle, common, pool.pivots, effect=_DIVERGENCE.effect),
        max(4, len(loss) // 16),
    )
    if not len(even):
        return None
    least = min(median(even[at : at + n_level]) for at in range(0, len(even), n_level))
    past, now = median(first_losses), median(loss.value[-n_level:])
    missing = _LEARNED - (past - float(loss.value[0])) - (float(even[0]) - least)
    if missing <= 0:
        return None
    return Reason(
        kind="nothing learned",
        series="loss",
        since_step=int(loss.first[0]),
        past=past,
        now=now,
        text=f"nothing learned: loss {past:.2f} → {now:.2f} since the first steps",
        sigmas=missing / max(sigma_of_windows(even, n_level), 1e-3),
    )


def plateau(loss: Curve, pool: Pool, ill_arms: Sequence[str], val_loss: Curve) -> Reason | None:
    """The loss stands still where it had not come to rest.

    val_loss has less noise: it tells when, and that it is so where the loss is not seen to fall.
    """
    common = common_loss(loss, pool, ill_arms)
    if common is None:
        return None
    even = without_jumps(loss.middle, common, pool.pivots, effect=_DIVERGENCE.effect)
    found, curve = standstill(loss.middle[: len(even)], even), loss
    held = without_jumps(val_loss.middle, val_loss.value, pool.pivots, effect=_DIVERGENCE.effect)
    of_held = standstill(val_loss.middle[: len(held)], held)
    if of_held is not None and (found is None or of_held.sigmas > found.sigmas):
        since = int(np.searchsorted(loss.first, val_loss.first[of_held.bin]))
        past, now = told_levels(even, since)
        if found is not None or past - now < _STILL_FALLS * of_held.missing:
            found, curve = of_held, val_loss
    if found is None:
        return None
    since_step = int(curve.first[found.bin])
    past, now = told_levels(common, int(np.searchsorted(loss.first, since_step)))
    return Reason(
        kind="plateau",
        series="loss",
        since_step=since_step,
        past=past,
        now=now,
        text=f"loss stands still at {now:.2f}",
        sigmas=found.sigmas,
    )
