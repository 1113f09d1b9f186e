"""Two branches of the fixed run side by side: the same at every call."""

import numpy as np

from console.fork.by_source import by_source
from console.fork.comparison import Column, Comparison
from console.fork.comparison_chart import SideBySide
from console.fork.paired_rows import pair, verdict

NAMES = ("v3-112700-a", "v3-112700-b")
_REMARK = (
    "training losses are of different texts here, so they say nothing about which run is better;"
    " val_loss on the same held-out text does"
)
BASE, LAST = 112_700, 113_700


def fixed_side_by_side() -> SideBySide:
    """A thousand steps after the fork, the second a little better."""
    chance = np.random.default_rng(7)
    rows = {f"row {n}": float(loss) for n, loss in enumerate(chance.normal(2.86, 0.3, 240))}
    gains = chance.normal(-0.013, 0.06, len(rows))
    other = {row: loss + float(g) for (row, loss), g in zip(rows.items(), gains, strict=True)}
    paired = pair(rows, other)
    columns = (
        Column(
            name=NAMES[0],
            ema=2.7931,
            mean_loss=2.8012,
            score=72.4,
            val_loss=sum(rows.values()) / len(rows),
            text="reads the next line from the stream and returns it as a string. If the file is"
            " at its end, an empty string is returned.",
            samples=(),
            mean_score=None,
            against_first=None,
            verdict="",
        ),
        Column(
            name=NAMES[1],
            ema=2.8240,
            mean_loss=2.8297,
            score=74.1,
            val_loss=sum(other.values()) / len(other),
            text="reads one line and returns the string without its newline; at the end of the"
            " file it returns None, so that an empty line can be told apart.",
            samples=(),
            mean_score=None,
            against_first=paired,
            verdict=verdict(*NAMES, paired),
        ),
    )
    comparison = Comparison(
        columns=columns,
        parted_after=BASE,
        last_step=LAST,
        audited_step=LAST,
        shared_rows=len(rows),
        sources=by_source(_audits(rows, other)),
        differences={"policy.books.cap": (1.0, 0.5), "optimizer.min_lr": (3e-5, 1e-5)},
        remarks=(_REMARK,),
    )
    return SideBySide(comparison=comparison, curves=_curves(chance))


def _audits(*of_runs: dict[str, float]) -> list[dict[str, object]]:
    """Of two sources that share the rows."""
    counts = {"stdlib-docs": 120, "stdlib-code": 120}
    return [
        {"val_rows": rows, "val_row_counts": counts, "val_losses": dict.fromkeys(counts, 2.9)}
        for rows in of_runs
    ]


def _curves(chance: np.random.Generator) -> tuple[list[int], list[float], list[float]]:
    steps = np.arange(BASE - 249, LAST + 1)
    walk = np.cumsum(chance.normal(0, 0.002, (2, len(steps))), axis=1)
    common = steps <= BASE
    walk[1] = np.where(common, walk[0], walk[0][common][-1] + walk[1] - walk[1][common][-1])
    drift = np.where(common, 0.0, (steps - BASE) / (LAST - BASE))
    first, second = 2.82 + walk[0] - 0.03 * drift, 2.82 + walk[1] + 0.01 * drift
    return steps.tolist(), first.tolist(), second.tolist()
