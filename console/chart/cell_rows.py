"""Rows of inked text, each exactly so many cells wide, and text made safe to put in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len, set_cell_size

from console.chart.curves import Characters
from console.chart.glyphs import Glyphs


class Ink(IntEnum):
    """What a character stands for; the widget gives each its colour."""

    BLANK = 0
    RAW = 1
    SMOOTH = 2
    PHASE = 3
    RESTART = 4
    AXIS = 5
    TEXT = 6
    BEYOND = 7
    CURSOR = 8
    WINDOW = 9
    ALARM = 10
    CURVE_1 = 11
    CURVE_2 = 12
    CURVE_3 = 13
    CURVE_4 = 14
    CURVE_5 = 15
    CURVE_6 = 16


CURVES = tuple(ink for ink in Ink if ink >= Ink.CURVE_1)
"""One for each of several curves; with more curves they begin anew."""


_INKS = tuple(Ink)


class Run(NamedTuple):
    """Neighbouring characters of one ink."""

    text: str
    ink: Ink


class Placed(NamedTuple):
    """A text and the cell it begins at."""

    column: int
    text: str
    ink: Ink


Row = tuple[Run, ...]


def printable(text: str, glyphs: Glyphs) -> str:
    """One line of harmless text: no control, format or selector characters, single spaces."""
    spaced = (" " if character.isspace() else character for character in text)
    kept = (c for c in spaced if unicodedata.category(c)[0] != "C" and c not in "\ufe0e\ufe0f")
    line = " ".join("".join(kept).split())
    return line.encode("ascii", "replace").decode() if glyphs.is_ascii else line


def clipped(text: str, width: int, glyphs: Glyphs) -> str:
    """The text if it fits into `width` cells, else its beginning and an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + glyphs.ellipsis * (width > 0)


def place(texts: Sequence[Placed], width: int) -> Row:
    """A row of `width` cells with the texts, sorted by column and not overlapping, in it."""
    runs: list[Run] = []
    at = 0
    for column, text, ink in texts:
        if column > at:
            runs.append(Run(" " * (column - at), Ink.BLANK))
        runs.append(Run(text, ink))
        at = column + cell_len(text)
    if at < width:
        runs.append(Run(" " * (width - at), Ink.BLANK))
    return tuple(runs)


def to_runs(characters: Characters, inks: npt.NDArray[np.uint8]) -> Row:
    """A row of single-cell characters and their inks, both of shape (width,), as runs."""
    borders = [0, *(np.flatnonzero(inks[1:] != inks[:-1]) + 1).tolist(), len(inks)]
    text = "".join(characters.tolist())
    return tuple(
        Run(text[start:end], _INKS[inks[start]]) for start, end in pairwise(borders) if end > start
    )
