"""What is known of one step, in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from console import formatting
from console.chart.cell_rows import Ink, Placed, Row, clipped, place, printable
from console.chart.glyphs import Glyphs
from console.chart.series import SeriesView
from console.chart.step_marks import Mark, MarkKind
from console.chart.value_text import loss_text

_ARM_CELLS = 14
_ALARM_CELLS = 28


class _Piece(NamedTuple):
    """A fact in the words that there is room for, and how early it is left out (0: never)."""

    full: str
    """To the last digit that says anything."""
    long: str
    short: str
    rank: int


def reading(view: SeriesView, index: int, marks: Sequence[Mark], glyphs: Glyphs, width: int) -> Row:
    """Step, loss, EMA, lr, grad_norm, arm, step time, wall clock and the mark of a record.

    What the record doesn't tell isn't there. Where the line is too short, digits are the first to
    go, then words, then what is asked for least.
    """
    pieces = _pieces(view, index, marks, glyphs)
    gap = f" {glyphs.separator} "
    line = gap.join(piece.full for piece in pieces)
    if cell_len(line) + 2 > width:
        line = gap.join(piece.long for piece in pieces)
    if cell_len(line) + 2 > width:
        line = " ".join(piece.short for piece in pieces)
    while cell_len(line) + 2 > width and any(piece.rank for piece in pieces):
        pieces.remove(max(pieces, key=lambda piece: piece.rank))
        line = " ".join(piece.short for piece in pieces)
    at = 1 if cell_len(line) + 2 <= width else 0
    return place([Placed(at, clipped(line, width - at, glyphs), Ink.CURSOR)], width)


def _pieces(view: SeriesView, index: int, marks: Sequence[Mark], glyphs: Glyphs) -> list[_Piece]:
    step = int(view.step[index])
    pieces = [_Piece(f"step {step:,}", f"step {step:,}", f"{step:,}", 0)]
    pieces.append(_loss("loss", float(view.loss[index]), 1))
    if not math.isnan(ema := float(view.ema[index])):
        pieces.append(_loss("EMA", ema, 5))
    if not math.isnan(lr := float(view.lr[index])):
        text = formatting.learning_rate(lr)
        pieces.append(_Piece(f"lr {_digits(lr)}", f"lr {text}", f"lr {text}", 2))
    if not math.isnan(norm := float(view.grad_norm[index])):
        full, text = f"grad_norm {_digits(norm)}", f"{norm:.3g}"
        pieces.append(_Piece(full, f"grad_norm {text}", f"gn {text}", 6))
    if view.arm[index] >= 0:
        arm = printable(view.arms[view.arm[index]], glyphs)
        pieces.append(_Piece(f"arm {arm}", f"arm {arm}", clipped(arm, _ARM_CELLS, glyphs), 3))
    if not math.isnan(ms := float(view.ms[index])):
        text = f"{ms / 1000:.2f} s" if ms >= 1000 else f"{ms:.0f} ms"
        pieces.append(_Piece(f"{ms:,.1f} ms", text, text.replace(" ", ""), 7))
    if math.isfinite(t := float(view.t[index])):
        text = formatting.moment(t)
        pieces.append(_Piece(text, text, text[5:] if len(text) == 16 else text, 4))
    # What happened behind the newest record, or at a step without one, is read here too.
    first = int(view.step[index - 1]) + 1 if index else 0
    last = step if index + 1 < len(view) else max((mark.step for mark in marks), default=step)
    here = [mark for mark in marks if first <= mark.step <= last]
    if labels := _labels([mark for mark in here if mark.kind is not MarkKind.ALARM], glyphs):
        pieces.append(_Piece(labels, labels, labels, 8))
    if alarms := _labels([mark for mark in here if mark.kind is MarkKind.ALARM], glyphs):
        # Beside the line there is seldom room for all of its words.
        pieces.append(_Piece(alarms, alarms, clipped(alarms, _ALARM_CELLS, glyphs), 3))
    return pieces


def _loss(name: str, value: float, rank: int) -> _Piece:
    text = f"{name} {loss_text(value)}"
    return _Piece(f"{name} {_digits(value)}", text, text, rank)


def _digits(value: float) -> str:
    """Of one width as the cursor moves."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.6f}" if 0.001 <= abs(value) < 10_000 or value == 0 else f"{value:.6e}"


def _labels(marks: Sequence[Mark], glyphs: Glyphs) -> str:
    return ", ".join(printable(mark.label, glyphs) for mark in marks)
