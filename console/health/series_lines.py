"""Each series now against its own past, for who asks how the run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from console.chart.quantiles import median, medians
from console.health.audit_rules import GAP, audited
from console.health.curve import Curve
from console.health.evidence import Evidence, Values
from console.health.pace_rules import in_seconds
from console.health.record_curves import RecordCurves
from console.health.verdict import Reason, SeriesLine

_WINDOW = 8
_Words = Callable[[float], str]
_Past = Literal["least", "most", "usually"]
"""What a series is to be compared with, of its own levels."""


def series_lines(
    evidence: Evidence, curves: RecordCurves, reasons: Sequence[Reason]
) -> tuple[SeriesLine, ...]:
    """A line for every series that is known, in the order in which they are shown."""
    by_series = {reason.series: reason for reason in reasons}
    return tuple(
        _line(series, values, words, past, by_series.get(series))
        for series, values, words, past in _series(evidence, curves)
        if len(values) or series in by_series
    )


def _series(
    evidence: Evidence, curves: RecordCurves
) -> Iterator[tuple[str, Values, _Words, _Past]]:
    yield "loss", curves.loss.value, _nats, "least"
    for name, curve in curves.arms.items():
        yield f"loss of {name}", curve.value, _nats, "least"
    val_loss = audited(evidence, evidence.val_loss)
    yield "val_loss", val_loss.value, _nats, "least"
    for name, values in evidence.val_losses.items():
        yield f"val_loss of {name}", audited(evidence, values).value, _nats, "least"
    yield GAP, _gap(val_loss, curves.loss), _nats, "usually"
    yield "score", audited(evidence, evidence.score).value, "{:.0f}".format, "most"
    yield "grad_norm", curves.grad_norm.value, "{:.3g}".format, "usually"
    yield "clipping", curves.clipped.value, "{:.0%}".format, "usually"
    yield "step time", curves.ms.value / 1000, in_seconds, "usually"
    yield "tokens/s", _tokens_per_second(curves), "{:,.0f}".format, "usually"


def _nats(value: float) -> str:
    return f"{value:.3f}"


def _gap(val_loss: Curve, loss: Curve) -> Values:
    if not len(val_loss) or not len(loss):
        return np.empty(0)
    return val_loss.value - np.interp(val_loss.middle, loss.middle, loss.value)


def _tokens_per_second(curves: RecordCurves) -> Values:
    if not len(curves.tokens) or not len(curves.ms):
        return np.empty(0)
    tokens = np.interp(curves.ms.middle, curves.tokens.middle, curves.tokens.value)
    return tokens / curves.ms.value * 1000


def _line(
    series: str, values: Values, words: _Words, past: _Past, reason: Reason | None
) -> SeriesLine:
    if reason is not None:
        return SeriesLine(
            series=series,
            now=reason.now,
            past=reason.past,
            since_step=reason.since_step,
            text=reason.text,
        )
    now, n_windows = median(values[-_WINDOW:]), max(1, len(values) // _WINDOW)
    newest = values[-n_windows * (len(values) // n_windows) :]
    levels = medians(newest.reshape(n_windows, -1))
    level = {"least": levels.min(), "most": levels.max(), "usually": median(levels)}[past]
    text = f"{words(now)}, {'usually' if past == 'usually' else 'best'} {words(level)}"
    return SeriesLine(series=series, now=now, past=float(level), since_step=None, text=text)
